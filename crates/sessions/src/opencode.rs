//! Speaks with askbox's plugin in each process of opencode: a line of JSON there and one back. The socket is the plugin's, in askbox's folder
//! for state, because opencode itself listens nowhere (measured with 1.18.33).

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::codex::Doing;
use askbox_mailbox::{Time, disk, layout};

/// How long a process of opencode may be silent before it tells of its sessions, and before it has done something.
const LISTS_WITHIN: Duration = Duration::from_secs(5);
const DOES_WITHIN: Duration = Duration::from_secs(10);
/// The longest reply, in bytes.
const LONGEST: u64 = 16 << 20;
/// The most processes that are asked.
const MOST: usize = 64;

/// A session that was at work in a process of opencode.
#[derive(Debug, Clone, Deserialize)]
pub struct OpencodeSession {
    /// Its id.
    pub id: String,
    /// Its name.
    pub title: String,
    /// Its working folder.
    pub cwd: PathBuf,
    since: i64,
    waits: bool,
    works: bool,
    /// The socket of its process.
    #[serde(skip)]
    socket: PathBuf,
}

#[derive(Deserialize)]
struct Reply {
    status: u16,
    #[serde(default)]
    data: Value,
}

/// The sessions of all processes. If two processes have the same session, the one at work counts. A silent process is left out. The socket of
/// a process that is gone is removed.
pub fn sessions() -> Vec<OpencodeSession> {
    // The plugin makes the folder.
    let Ok(folder) = layout::state_folder().map(|state| state.join("opencode")) else { return Vec::new() };
    let sockets = disk::entries(&folder).into_iter().flatten().flatten().take(MOST).map(|entry| folder.join(entry.name));
    let mut all: Vec<_> = sockets.filter_map(|socket| of_process(&socket)).flatten().collect();
    all.sort_by_key(|session| (session.id.clone(), session.doing() == Doing::Rests));
    all.dedup_by(|other, first| other.id == first.id);
    all
}

fn of_process(socket: &Path) -> Option<Vec<OpencodeSession>> {
    let told = ask(socket, &json!({}), LISTS_WITHIN);
    if told.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused) {
        let _ = disk::remove(socket);
    }
    let mut all: Vec<OpencodeSession> = serde_json::from_value(told.ok()?).ok()?;
    all.iter_mut().for_each(|session| session.socket = socket.to_owned());
    Some(all)
}

fn ask(socket: &Path, line: &Value, within: Duration) -> io::Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let reply: Reply = serde_json::from_reader(BufReader::new(stream.take(LONGEST)))?;
    if (200..300).contains(&reply.status) {
        return Ok(reply.data);
    }
    Err(io::Error::other(format!("opencode answered with the status {}: {}", reply.status, reply.data)))
}

impl OpencodeSession {
    /// Its status.
    pub fn doing(&self) -> Doing {
        match self.waits {
            true => Doing::Waits,
            false if self.works => Doing::Works,
            false => Doing::Rests,
        }
    }

    /// When its status changed.
    pub fn since(&self) -> Option<Time> {
        Time::from_timestamp_millis(self.since)
    }

    /// The last messages, in opencode's own form.
    ///
    /// # Errors
    /// If its process does not answer in time.
    pub fn messages(&self, most: usize) -> io::Result<Value> {
        self.call("get", &format!("message?limit={most}"), Value::Null)
    }

    /// Calls opencode's API below this session.
    ///
    /// # Errors
    /// If its process does not answer in time, or refuses.
    pub fn call(&self, method: &str, what: &str, body: Value) -> io::Result<Value> {
        let line = json!({ "method": method, "path": format!("/session/{}/{what}", self.id), "body": body });
        ask(&self.socket, &line, DOES_WITHIN)
    }
}
