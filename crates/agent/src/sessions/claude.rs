//! The sessions of Claude Code that run on this machine, from the files `sessions/PID.json` of its configuration folder (measured with 2.1.330
//! and 2.1.331).
//!
//! # Limitations
//! The files are not documented. Their content is shown. It decides one thing: whether an agent is started with the answer that a session
//! would go on with. Both claim the answer first, so a wrong file lets nobody go on twice. Without `/proc`, the process id of a session that was killed
//! may have passed to another process of this user.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::sessions::kept;
use askbox_mailbox::{Time, disk, text};

/// The longest file of a session, in bytes.
const LONGEST: u64 = 64 << 10;
/// The maximum number of files that are read.
const MOST: usize = 1000;

/// A session whose process lives.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The id of its process.
    pub pid: i32,
    /// Its id. `claude --resume` takes it.
    pub session_id: String,
    /// Its working folder.
    #[serde(default)]
    pub cwd: PathBuf,
    /// How it was started: `interactive` or `bg`.
    #[serde(default)]
    pub kind: String,
    /// The way in: `cli` at a terminal, `sdk-cli` for `claude -p`.
    #[serde(default)]
    pub entrypoint: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// `idle`, `busy`, `waiting`, or missing.
    pub status: Option<String>,
    /// What it waits for, such as `permission prompt`.
    pub waiting_for: Option<String>,
    /// The socket that takes messages of other sessions.
    pub messaging_socket_path: Option<PathBuf>,
    /// The version of what that socket speaks.
    pub peer_protocol: Option<u32>,
    /// When the status changed, in milliseconds since 1970.
    status_updated_at: Option<i64>,
    /// When its process began, as `/proc/PID/stat` says it.
    proc_start: Option<String>,
    /// When it began, in milliseconds since 1970.
    started_at: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    peer_token: String,
    proc_start: Option<String>,
}

impl Session {
    /// True if a dialog waits for its user.
    pub fn is_waiting(&self) -> bool {
        self.status.as_deref() == Some("waiting")
    }

    /// True if it waits for the next prompt. A draft may stand at its terminal.
    pub fn is_idle(&self) -> bool {
        self.status.as_deref() == Some("idle")
    }

    /// The socket that takes messages of other sessions, if askbox knows how to speak to it.
    pub fn inbox(&self) -> Option<&Path> {
        self.messaging_socket_path.as_deref().filter(|path| path.is_absolute() && self.peer_protocol == Some(1))
    }

    /// The token for that socket, from the file `PID.HASH.key` beside the session's.
    pub fn inbox_token(&self, config_dir: &Path) -> Option<String> {
        let files = std::fs::read_dir(config_dir.join("sessions")).into_iter().flatten().flatten().take(MOST);
        let begin = format!("{}.", self.pid);
        let is_key = |name: &str| name.starts_with(&begin) && name.ends_with(".key");
        let keys = files
            .filter(|file| file.file_name().to_str().is_some_and(is_key))
            .filter_map(|file| serde_json::from_reader::<_, Key>(disk::open_of_another_program(&file.path()).ok()?.take(LONGEST)).ok());
        keys.filter(|key| key.proc_start == self.proc_start).map(|key| key.peer_token).next()
    }

    /// Its status, in words for people.
    pub fn in_words(&self) -> String {
        let what = text::excerpt(self.waiting_for.as_deref().unwrap_or("an answer"), 40);
        match self.status.as_deref() {
            Some("waiting") => format!("waits at its terminal: {what}"),
            Some(other) => text::excerpt(other, 40),
            None => "-".into(),
        }
    }

    /// When its status changed, or else when it began.
    pub fn since(&self) -> Option<Time> {
        self.status_updated_at.or(self.started_at).and_then(Time::from_timestamp_millis)
    }
}

/// Returns the sessions whose process lives and belongs to this user, by their process ids. A file that cannot be read is left out.
pub fn all(config_dir: &Path) -> Vec<Session> {
    let files = std::fs::read_dir(config_dir.join("sessions")).into_iter().flatten().flatten().take(MOST);
    let mut found: Vec<Session> = files
        .filter_map(|file| read(&file.path()))
        .filter(|session| kept::process(session.pid, session.proc_start.as_deref()).is_some())
        .collect();
    found.sort_by_key(|session| session.pid);
    found
}

/// True if a process of this session lives.
pub fn is_alive(config_dir: &Path, session_id: &str) -> bool {
    of_id(config_dir, session_id).is_some()
}

/// The session with this id, if a process of it lives.
pub fn of_id(config_dir: &Path, session_id: &str) -> Option<Session> {
    all(config_dir).into_iter().find(|session| session.session_id == session_id)
}

/// The session of this process.
pub fn of_process(config_dir: &Path, pid: i32) -> Option<Session> {
    read(&config_dir.join("sessions").join(format!("{pid}.json")))
}

fn read(path: &Path) -> Option<Session> {
    let pid: i32 = path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()?;
    let file = disk::open_of_another_program(path).ok()?;
    let session: Session = serde_json::from_reader(file.take(LONGEST)).ok()?;
    (session.pid == pid && pid > 0).then_some(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::platform::processes::Seen;

    #[test]
    fn a_session_is_there_as_long_as_its_process_lives() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = folder.path().join("sessions");
        std::fs::create_dir(&sessions).unwrap();
        assert!(all(folder.path()).is_empty() && all(Path::new("/nowhere")).is_empty());
        let write = |pid: u32, text: String| std::fs::write(sessions.join(format!("{pid}.json")), text).unwrap();
        let of = |pid: u32, id: &str| {
            format!(r#"{{"pid":{pid},"sessionId":"{id}","cwd":"/w","status":"waiting","statusUpdatedAt":1000,"new":{{}}}}"#)
        };
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        write(ended.id(), of(ended.id(), "ended"));
        write(std::process::id(), of(std::process::id(), "here"));
        // Another name, and no JSON.
        std::fs::write(sessions.join("1.json"), of(2, "other")).unwrap();
        std::fs::write(sessions.join("3.json"), "{").unwrap();
        // Nobody waits for a pipe that no program writes to.
        assert!(std::process::Command::new("mkfifo").arg(sessions.join("7.json")).status().unwrap().success());
        let found = all(folder.path());
        assert_eq!(found.iter().map(|session| session.session_id.as_str()).collect::<Vec<_>>(), ["here"]);
        assert!(found[0].is_waiting() && found[0].since() == Time::from_timestamp_millis(1000));
        assert!(is_alive(folder.path(), "here") && !is_alive(folder.path(), "ended"));
        let Some(begin) = Seen::at(std::process::id().cast_signed()).and_then(|process| process.began()) else { return };
        let begun = |at: &str| of(std::process::id(), "here").replace(r#""cwd""#, &format!(r#""procStart":"{at}","cwd""#));
        write(std::process::id(), begun(&begin.to_string()));
        assert!(is_alive(folder.path(), "here"));
        write(std::process::id(), begun("1"));
        assert!(!is_alive(folder.path(), "here"), "the process id is that of another one now");
    }
}
