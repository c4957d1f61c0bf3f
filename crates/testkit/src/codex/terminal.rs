//! A client of Codex's daemon, as a terminal with `codex` is.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::process::until;

/// An open connection.
pub struct Terminal {
    socket: WebSocket<UnixStream>,
    next_id: u64,
    /// All messages of the daemon so far, without the answers to requests.
    pub seen: Vec<Value>,
}

impl Terminal {
    /// Connects, and introduces itself.
    pub fn connect(socket: &Path) -> Self {
        let stream = until("the daemon listens", || UnixStream::connect(socket.canonicalize().ok()?).ok());
        let (socket, _) = tungstenite::client::client("ws://localhost/", stream).expect("a WebSocket");
        let mut terminal = Self { socket, next_id: 0, seen: Vec::new() };
        let info = json!({"name": "terminal", "title": "terminal", "version": "0"});
        terminal.request("initialize", json!({"clientInfo": info, "capabilities": {"experimentalApi": true}}));
        terminal.send(&json!({"method": "initialized"}));
        terminal
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).expect("the daemon lives");
    }

    fn read(&mut self, wait: Duration) -> Option<Value> {
        self.socket.get_ref().set_read_timeout(Some(wait)).expect("a time");
        match self.socket.read() {
            Ok(Message::Text(text)) => Some(serde_json::from_str(&text).expect("JSON")),
            Ok(_) => Some(Value::Null),
            Err(tungstenite::Error::Io(_)) => None,
            Err(e) => panic!("the daemon has ended: {e}"),
        }
    }

    /// Sends a request, and returns its result.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"id": id, "method": method, "params": params}));
        until(method, || {
            let message = self.read(Duration::from_millis(20))?;
            if message["method"].is_null() && message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return Some(message["result"].clone());
            }
            self.seen.push(message);
            None
        })
    }

    /// Waits for a message of this method.
    pub fn awaits(&mut self, method: &str) -> Value {
        until(method, || {
            if let Some(at) = self.seen.iter().position(|message| message["method"] == method) {
                return Some(self.seen.remove(at));
            }
            let message = self.read(Duration::from_millis(20))?;
            self.seen.push(message);
            None
        })
    }

    /// Closes the connection, as a closed window does.
    pub fn leave(&self) {
        self.socket.get_ref().shutdown(std::net::Shutdown::Both).expect("an open connection");
    }
}
