//! The transcript: a file of JSON lines that only grows. It lies where Claude Code keeps its own, and has the same form, so that
//! `relaunch` reads it: `projects/FOLDER/SESSION.jsonl` in the folder of settings and sessions.
//!
//! One process writes it. That process holds a lock on the file.

#![allow(clippy::disallowed_methods, reason = "a transcript lies outside of any mailbox")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::history::{BEGUN, Call, DEFERRED, History, REMARK, REWOUND};
use askbox_mailbox::{Error, IoContext, Result, disk, time};

/// A transcript that this process writes.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub path: PathBuf,
    pub history: History,
    file: File,
    session: String,
    cwd: PathBuf,
    last: Option<String>,
}

impl Transcript {
    /// Opens a transcript, or begins a new one. A last line without an end was being written when its process died: it is cut off.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another process writes the transcript. [`Error::Io`] if the system refuses.
    pub fn open(path: &Path, session: &str, cwd: &Path) -> Result<Self> {
        path.parent().map_or(Ok(()), create_folder)?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).io("open", path)?;
        if !disk::lock_open_file(&file).io("lock", path)? {
            let problem = format!("another process writes the session {session} at this moment");
            return Err(Error::conflict(problem, "let it end, or begin a session of its own with --session-id"));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).io("read", path)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64).io("cut off the torn end of", path)?;
            file.seek(SeekFrom::End(0)).io("read", path)?;
        }
        let mut transcript =
            Self { path: path.into(), history: History::default(), file, session: session.into(), cwd: cwd.into(), last: None };
        for line in text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let hint = "restore the file, or begin a new session";
            let invalid = |e| Error::invalid(path.display().to_string(), format!("has a line that is not JSON: {e}"), hint);
            transcript.note(&serde_json::from_slice(line).map_err(invalid)?);
        }
        Ok(transcript)
    }

    fn note(&mut self, entry: &Value) {
        if entry["message"].is_object() && entry["isSidechain"] != true {
            self.last = entry["uuid"].as_str().map(str::to_owned);
        }
        self.history.take(entry);
    }

    /// Adds the words of a user. The model reads them with its next request.
    pub fn prompt(&mut self, uuid: &str, content: &Value) -> Result<()> {
        self.user(uuid, content, json!({}))
    }

    /// Adds words of this program. With the field [`SUMMARY`](crate::history::SUMMARY), the model reads them in place of all messages in
    /// front, which stay in the file.
    pub fn remark(&mut self, words: &str, mut fields: Value) -> Result<()> {
        fields[REMARK] = true.into();
        self.user(&new_id(), &words.into(), fields)
    }

    /// Adds a reply of the model. It is durable before a tool of it is called.
    pub fn reply(&mut self, message: &Value) -> Result<()> {
        self.append(json!({ "type": "assistant", "uuid": new_id(), "message": message }))
    }

    /// Adds the result of a call.
    pub fn result(&mut self, block: &Value) -> Result<()> {
        self.prompt(&new_id(), &json!([block]))
    }

    /// Notes, durably, that a call is about to be made which must not be repeated unseen.
    pub fn begin(&mut self, call: &Call) -> Result<()> {
        self.mark(json!({ "type": BEGUN, "toolUseID": call.id }))
    }

    /// Notes that the session waits with a call for a person.
    pub fn wait(&mut self, call: &Call) -> Result<()> {
        if self.history.waiting.as_deref() == Some(&call.id) {
            return Ok(());
        }
        self.mark(json!({ "type": DEFERRED, "toolUseID": call.id }))
    }

    /// Notes that the call of a subagent waits no longer: its result lies in the subagent's own transcript.
    pub fn wait_is_over(&mut self, call: &str) -> Result<()> {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": "in the transcript of the subagent" });
        self.user(&new_id(), &json!([block]), json!({ "isSidechain": true }))
    }

    /// Goes on behind an earlier message. What followed it stays in the file, and no longer counts.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such message.
    pub fn rewind(&mut self, to: &str) -> Result<()> {
        if !self.history.messages.iter().any(|message| message.uuid == to) {
            return Err(Error::not_found(format!("No message found with message.uuid of: {to}"), " "));
        }
        self.mark(json!({ "type": REWOUND, "to": to }))
    }

    fn user(&mut self, uuid: &str, content: &Value, mut entry: Value) -> Result<()> {
        (entry["type"], entry["uuid"]) = ("user".into(), uuid.into());
        entry["message"] = json!({ "role": "user", "content": content });
        self.append(entry)
    }

    fn mark(&mut self, attachment: Value) -> Result<()> {
        self.append(json!({ "type": "attachment", "uuid": new_id(), "attachment": attachment }))
    }

    /// Adds one line, durably.
    fn append(&mut self, mut entry: Value) -> Result<()> {
        entry["parentUuid"] = json!(self.last);
        entry["sessionId"] = json!(self.session);
        entry["cwd"] = json!(self.cwd);
        entry["timestamp"] = json!(time::rfc3339(time::now()));
        self.file.write_all(format!("{entry}\n").as_bytes()).io("write", &self.path)?;
        self.file.sync_data().io("sync", &self.path)?;
        self.note(&entry);
        Ok(())
    }
}

/// Makes a folder for transcripts, with those above it.
fn create_folder(folder: &Path) -> Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).io("create", folder)
}

/// A new random id.
pub(crate) fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// The transcript of the subagent that a call has started. It lies beside the transcript of its session.
pub(crate) fn of_subagent(session: &Path, call: &Call) -> Result<PathBuf> {
    askbox_agent::subagents::transcript(session, &call.id)
        .ok_or_else(|| Error::invalid("tool_use", "has an id that cannot be the name of a file", "ask the model again"))
}

/// Writes beside a subagent's transcript which agent it is, for readers of the session.
pub(crate) fn note_subagent(path: &Path, kind: &str, task: &str) -> Result<()> {
    let note = path.with_extension("meta.json");
    std::fs::write(&note, json!({ "agentType": kind, "description": task }).to_string()).io("write", &note)
}

/// Copies a session with the transcripts of its subagents. The session's own file comes last: it makes the copy count.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = |session: &Path| session.with_extension("").join("subagents");
    to.parent().map_or(Ok(()), create_folder)?;
    if let Ok(entries) = std::fs::read_dir(folder(from)) {
        create_folder(&folder(to))?;
        for entry in entries.flatten() {
            let copy = folder(to).join(entry.file_name());
            std::fs::copy(entry.path(), &copy).io("copy to", &copy)?;
        }
    }
    let half = to.with_extension(format!("{}.half", std::process::id()));
    std::fs::copy(from, &half).io("copy to", &half)?;
    File::open(&half).and_then(|file| file.sync_all()).io("sync", &half)?;
    std::fs::rename(&half, to).io("rename to", to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Step, next};

    #[test]
    fn a_transcript_survives_a_torn_end_and_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p/s.jsonl");
        let mut first = Transcript::open(&path, "s", folder.path()).unwrap();
        first.prompt("m", &json!("Do it")).unwrap();
        assert_eq!(Transcript::open(&path, "s", folder.path()).unwrap_err().exit_code(), 4);
        drop(first);
        let written = std::fs::read(&path).unwrap();
        std::fs::write(&path, [written.as_slice(), b"{\"type\":\"assist"].concat()).unwrap();
        let again = Transcript::open(&path, "s", folder.path()).unwrap();
        assert_eq!((next(&again.history), std::fs::read(&path).unwrap()), (Step::AskModel, written));
    }

    #[test]
    fn relaunch_reads_which_call_waits_and_when_it_is_over() {
        use askbox_agent::transcript::{SuspendedCall, suspended_call};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let mut transcript = Transcript::open(&path, "s", folder.path()).unwrap();
        let waits = |id: &str| SuspendedCall::Waits(id.into());
        let read = || suspended_call(File::open(&path).unwrap());
        transcript.wait(&Call { id: "child".into(), name: "AskUserQuestion".into(), input: Default::default() }).unwrap();
        assert_eq!((read(), transcript.history.waiting.as_deref()), (waits("child"), Some("child")));
        transcript.wait_is_over("child").unwrap();
        transcript.result(&json!({"type": "tool_result", "tool_use_id": "task", "content": "done"})).unwrap();
        assert_eq!((read(), &transcript.history.waiting), (SuspendedCall::None, &None));
    }
}
