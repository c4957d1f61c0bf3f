//! The files about the subagents inside a session, which lie beside its transcript.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::transcript::is_plain;
use askbox_mailbox::disk;

/// The most bytes of a note that are read.
const LONGEST_NOTE: u64 = 64 << 10;

/// The number of transcripts of one session that are read at most.
const MOST: usize = 1000;

/// The agent program's note about a subagent. Agents wrote the words in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Note {
    /// The name of its definition.
    #[serde(default, rename = "agentType")]
    pub kind: Option<String>,
    /// Its task in a few words.
    #[serde(default, rename = "description")]
    pub task: Option<String>,
}

/// The path of a subagent's transcript. `None` if the id cannot be a file's name.
pub fn transcript(session: &Path, id: &str) -> Option<PathBuf> {
    file(session, id, "jsonl")
}

/// The note about a subagent. `None` if there is none that can be read.
pub fn note(session: &Path, id: &str) -> Option<Note> {
    let file = disk::open_of_another_program(&file(session, id, "meta.json")?).ok()?;
    serde_json::from_reader(file.take(LONGEST_NOTE)).ok()
}

/// The paths of the transcripts of a session's subagents, of as many as are looked at.
pub fn transcripts(session: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(session.with_extension("").join("subagents")).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).take(MOST).collect()
}

fn file(session: &Path, id: &str, end: &str) -> Option<PathBuf> {
    is_plain(id).then(|| session.with_extension("").join("subagents").join(format!("agent-{id}.{end}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_definition_and_the_task() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("s.jsonl");
        std::fs::create_dir_all(folder.path().join("s/subagents")).unwrap();
        let write = |id: &str, text: &str| std::fs::write(folder.path().join(format!("s/subagents/agent-{id}.meta.json")), text).unwrap();
        write("a1", r#"{"agentType":"reviewer","isBuiltIn":false,"description":"Review it","spawnDepth":1}"#);
        write("a2", "{}");
        write("a3", "{");
        assert_eq!(note(&session, "a1"), Some(Note { kind: Some("reviewer".into()), task: Some("Review it".into()) }));
        assert_eq!(note(&session, "a2"), Some(Note::default()));
        assert_eq!((note(&session, "a3"), note(&session, "a4"), note(&session, "../a1")), (None, None, None));
        assert_eq!(transcript(&session, "a1"), Some(folder.path().join("s/subagents/agent-a1.jsonl")));
    }
}
