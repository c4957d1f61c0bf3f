//! One connection to Codex's daemon: a WebSocket over its Unix socket, one JSON object in each text message.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use crate::codex::wire::{self, Incoming};
use askbox_mailbox::{Error, IoContext, Result};

/// The longest message that is read. A session's newest turn may have long outputs.
const LONGEST: usize = 64 << 20;
/// How long the daemon may take to accept a connection or a message.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open connection.
pub(super) struct Client {
    socket: WebSocket<UnixStream>,
}

impl Client {
    /// Connects. `None` if no daemon listens there.
    ///
    /// # Errors
    /// If the socket belongs to another user, or does not speak as the daemon does.
    pub(super) fn connect(socket: &Path) -> Result<Option<Self>> {
        // The name is a link, because the path of a socket is at most 107 bytes long.
        let Ok(socket) = socket.canonicalize() else { return Ok(None) };
        let owner = socket.metadata().map(|file| file.uid());
        if owner.is_ok_and(|owner| owner != rustix::process::geteuid().as_raw()) {
            return Err(Error::failed(format!("{} belongs to another user", socket.display()), "remove it, and start codex again"));
        }
        let stream = match UnixStream::connect(&socket) {
            Err(e) if [ErrorKind::NotFound, ErrorKind::ConnectionRefused].contains(&e.kind()) => return Ok(None),
            other => other.io("connect to", &socket)?,
        };
        stream.set_read_timeout(Some(PATIENCE)).io("set up", &socket)?;
        stream.set_write_timeout(Some(PATIENCE)).io("set up", &socket)?;
        let config = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
        let (socket, _) = tungstenite::client::client_with_config("ws://localhost/", stream, Some(config))
            .map_err(|e| Error::failed(format!("codex's daemon does not answer as expected: {e}"), "codex app-server daemon restart"))?;
        Ok(Some(Self { socket }))
    }

    /// Introduces this client to the daemon. To be called once, before everything else.
    ///
    /// # Errors
    /// If the connection is lost, or the daemon does not answer as expected until then.
    pub(super) fn introduce(&mut self, until: Instant) -> Result<()> {
        let info = json!({ "name": "askbox", "title": "askbox", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": info, "capabilities": { "experimentalApi": true } });
        self.call(0, "initialize", &params, until)?.map_err(|why| wire::refused(&why))?;
        self.send(wire::notice("initialized"))
    }

    /// Sends a request and waits for its result, or for the reason why it was refused. Other messages are dropped.
    ///
    /// # Errors
    /// If the connection is lost, or no answer comes until then.
    pub(super) fn call(&mut self, id: u64, method: &str, params: &Value, until: Instant) -> Result<std::result::Result<Value, String>> {
        self.send(wire::request(id, method, params))?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(Incoming::Response { id: of, result }) if of == id => return Ok(result),
                _ if left.is_zero() => return Err(wire::refused("no answer")),
                _ => {}
            }
        }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn send(&mut self, text: String) -> Result<()> {
        self.socket.send(Message::text(text)).map_err(|e| lost(&e))
    }

    /// Waits for the next message. `None` if none comes in this time.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn receive(&mut self, wait: Duration) -> Result<Option<Incoming>> {
        self.socket.get_ref().set_read_timeout(Some(wait.max(Duration::from_millis(1)))).io("set up", "a connection")?;
        match self.socket.read() {
            Ok(Message::Text(text)) => Ok(Some(wire::read(&text))),
            Ok(Message::Close(_)) => Err(lost(&tungstenite::Error::ConnectionClosed)),
            // The library answers a ping by itself.
            Ok(_) => Ok(Some(Incoming::Other)),
            Err(tungstenite::Error::Io(e)) if [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted].contains(&e.kind()) => {
                Ok(None)
            }
            Err(e) => Err(lost(&e)),
        }
    }
}

fn lost(error: &tungstenite::Error) -> Error {
    Error::failed(format!("the connection to codex's daemon is lost: {error}"), "codex app-server daemon version")
}
