//! The JSON lines between the plugin and this command: the plugin tells what its program asks, and this command what to reply.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use askbox_mailbox::error::Result;
use askbox_mailbox::thread;

/// The longest line that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// The id of a request. It stands in the path of the reply, so it has no other letters than the programs' own ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct RequestId(String);

impl TryFrom<String> for RequestId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if id.is_empty() || id.len() > 128 || !id.chars().all(is_plain) {
            return Err("an id of a request has 1 to 128 letters, digits, `_` and `-`");
        }
        Ok(Self(id))
    }
}

impl RequestId {
    /// The id as text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A line of the plugin.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Incoming {
    /// A dialog has opened.
    Asked(Box<Asked>),
    /// A dialog has ended, and no reply of ours was sent.
    Ended {
        /// The request.
        id: RequestId,
    },
    /// The session of a dialog has ended, or begins again without it. No plugin tells this.
    #[serde(skip)]
    Left {
        /// The request.
        id: RequestId,
    },
    /// The program has answered a reply of ours.
    Replied {
        /// The request.
        id: RequestId,
        /// The status of HTTP.
        status: u16,
    },
    /// The plugin could not do its work.
    Failed {
        /// The request. Missing if it is about none.
        #[serde(default)]
        id: Option<RequestId>,
        /// The reason.
        why: String,
    },
    /// A line of a newer plugin.
    #[serde(other)]
    Other,
}

/// A dialog, in the program's own words.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Asked {
    /// The name of the event.
    pub(super) event: String,
    /// The properties of the event.
    pub(super) request: Map<String, Value>,
    /// The session that asks.
    pub(super) session: Session,
    /// The session that a person has begun. A subagent has a session of its own below it.
    pub(super) root: Session,
    /// The part of the session's message that makes the call.
    #[serde(default)]
    pub(super) part: Option<Part>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) directory: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) agent: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Part {
    pub(super) tool: String,
    pub(super) state: PartState,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct PartState {
    pub(super) status: String,
    #[serde(default)]
    pub(super) input: Map<String, Value>,
}

/// A reply to a request: the path and the body of a call of the program's API.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Outgoing {
    pub(super) id: RequestId,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) path: String,
    pub(super) body: Value,
}

/// Reads lines in a thread. The channel ends with the input, or with a line that is too long.
///
/// # Errors
/// If the system gives no thread.
pub(super) fn lines(input: impl Read + Send + 'static) -> Result<Receiver<Vec<u8>>> {
    let (sender, lines) = mpsc::channel();
    thread::start(move || {
        let mut input = BufReader::new(input);
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if !line.ends_with(b"\n") => return,
                Ok(_) => {}
            }
            if sender.send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

/// Reads a line of the plugin. One that cannot be read is about a dialog that stays at its terminal.
pub(super) fn read(line: &[u8]) -> Incoming {
    let not_known = |e| Incoming::Failed { id: None, why: format!("the plugin has sent a line in a form that is not known: {e}") };
    serde_json::from_slice(line).unwrap_or_else(not_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_would_change_the_path_of_a_reply_is_refused() {
        let id = |id: &str| RequestId::try_from(id.to_owned());
        assert!(id("per_21c7ec386001WzAYY8VvL79vsv").is_ok());
        assert!(["", "../x", "per 1", "per_1/reply", "per?x=1", "pör"].iter().all(|bad| id(bad).is_err()));
    }

    #[test]
    fn a_line_that_is_not_known_asks_nothing() {
        assert_eq!(read(br#"{"type":"new_kind","x":1}"#), Incoming::Other);
        assert!(matches!(read(br#"{"type":"ended","id":"../x"}"#), Incoming::Failed { id: None, .. }));
        assert!(matches!(read(b"no json"), Incoming::Failed { .. }));
    }
}
