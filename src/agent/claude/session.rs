//! Where `claude` keeps the transcript of a session.

use std::path::{Path, PathBuf};

/// The transcript of a session. A session with a transcript has begun and can be resumed; the id of a session without one is free.
///
/// The transcript is the newest `projects/*/<session_id>.jsonl`: the name of a project's folder is ambiguous, and a session may run in
/// any project. It appears with the first API request, not with `init`. It exists while a deferred call is pending; the resumed
/// session then takes no message.
///
/// Returns `None` also if the id is not a plain name or the folder cannot be read.
pub fn transcript_exists(config_dir: &Path, session_id: &str) -> Option<PathBuf> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if session_id.is_empty() || !session_id.bytes().all(plain) {
        return None;
    }
    let name = format!("{session_id}.jsonl");
    let projects = std::fs::read_dir(config_dir.join("projects")).ok()?;
    let transcripts = projects.flatten().filter_map(|project| {
        let path = project.path().join(&name);
        let found = path.metadata().ok().filter(|found| found.is_file() && found.len() > 0)?;
        Some((found.modified().ok(), path))
    });
    transcripts.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_found_in_any_project_and_an_id_leads_nowhere_else() {
        let dir = std::env::temp_dir().join(format!("askbox-transcripts-{}", std::process::id()));
        let project = dir.join("projects/-some-where");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(dir.join("projects/-other")).unwrap();
        std::fs::write(project.join("s-1.jsonl"), "{}\n").unwrap();
        std::fs::write(project.join("empty.jsonl"), "").unwrap();
        assert_eq!(transcript_exists(&dir, "s-1"), Some(project.join("s-1.jsonl")));
        for id in ["s-2", "empty", "../-some-where/s-1", "", "s-1/", "."] {
            assert_eq!(transcript_exists(&dir, id), None);
        }
        assert_eq!(transcript_exists(Path::new("/nonexistent"), "s-1"), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
