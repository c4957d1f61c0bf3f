//! The inbox socket of a session of Claude Code (measured with 2.1.332). A message always names its session, so that the words do not reach
//! another conversation after `/clear`, and a socket of ours beside the session's: receipts come only to a socket in that folder.
//!
//! Priority `now` is never used: it would refuse an open dialog in the person's name.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use askbox_agent::sessions::claude::Session;
use askbox_mailbox::{disk, thread};

/// How long a session may take to read a message, and a receipt to come whole.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest receipt, in bytes.
const LONGEST: u64 = 64 << 10;

/// Words about a message, in the session's own name.
#[derive(Debug, Deserialize)]
pub struct Receipt {
    action: String,
    /// `held`, `dropped`, `refused`, `expired`.
    pub status: String,
    /// Why, in words.
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    orig_msg_id: String,
    #[serde(default)]
    dropped_msg_ids: Vec<String>,
}

impl Receipt {
    /// True if it is about the message with this id.
    pub fn is_of(&self, id: Uuid) -> bool {
        let id = id.to_string();
        self.orig_msg_id == id || self.dropped_msg_ids.contains(&id)
    }
}

type Take = Arc<dyn Fn(Receipt) + Send + Sync>;

/// The sockets where receipts come in: one in each folder of sockets.
pub struct Receipts {
    sockets: Vec<PathBuf>,
    take: Take,
}

impl Receipts {
    pub fn new(take: impl Fn(Receipt) + Send + Sync + 'static) -> Self {
        Self { sockets: Vec::new(), take: Arc::new(take) }
    }

    /// Sends words to a session.
    ///
    /// # Errors
    /// If the session's socket is not there, or takes nothing.
    pub fn send(&mut self, config_dir: &Path, session: &Session, id: Uuid, words: &str) -> io::Result<()> {
        let inbox = session.inbox().ok_or_else(|| io::Error::other("it has no socket"))?;
        // In a folder for all users, another user may have made it.
        if disk::metadata(inbox)?.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("the socket belongs to another user"));
        }
        let from = self.socket_beside(inbox)?;
        let mut stream = UnixStream::connect(inbox)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut lines = String::new();
        if let Some(token) = session.inbox_token(config_dir) {
            lines += &format!("{}\n", json!({"type": "auth", "token": token}));
        }
        let message = json!({
            "type": "user", "message": {"role": "user", "content": words}, "msg_id": id, "session_id": session.session_id,
            "from": format!("uds:{}", from.display()),
        });
        lines += &format!("{message}\n");
        stream.write_all(lines.as_bytes())
    }

    /// The socket of this process beside a session's.
    fn socket_beside(&mut self, inbox: &Path) -> io::Result<PathBuf> {
        let own = inbox.with_file_name(format!("askbox-{}.sock", std::process::id()));
        if self.sockets.contains(&own) && disk::exists(&own) {
            return Ok(own);
        }
        remove_left_over(inbox);
        let listener = UnixListener::bind(&own)?;
        rustix::fs::chmod(&own, rustix::fs::Mode::from_raw_mode(0o600))?;
        let take = Arc::clone(&self.take);
        thread::start(move || listener.incoming().flatten().for_each(|stream| read(stream, &take))).map_err(io::Error::other)?;
        self.sockets.push(own.clone());
        Ok(own)
    }
}

/// Removes sockets of pages that were killed.
fn remove_left_over(inbox: &Path) {
    let entries = inbox.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    for entry in
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("askbox-") && name.ends_with(".sock")))
    {
        if UnixStream::connect(entry.path()).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused) {
            let _ = disk::remove(&entry.path());
        }
    }
}

fn read(stream: UnixStream, take: &Take) {
    if stream.set_read_timeout(Some(PATIENCE)).is_err() {
        return;
    }
    for line in BufReader::new(stream.take(LONGEST)).lines().map_while(Result::ok) {
        if let Ok(receipt) = serde_json::from_str::<Receipt>(&line)
            && receipt.action == "peer_message_status"
            && matches!(receipt.status.as_str(), "held" | "dropped" | "refused" | "expired" | "denied")
        {
            take(receipt);
        }
    }
}
