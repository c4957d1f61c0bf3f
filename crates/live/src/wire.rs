//! The JSON lines between the plugin and this command: the plugin tells what its program asks, and this command what to reply.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::{Map, Value};

use askbox_mailbox::{Result, thread};

/// The status of HTTP for a reply that the program has taken.
pub(crate) const TAKEN: u16 = 200;
/// The status for a reply to a request that has ended.
pub(crate) const NOT_FOUND: u16 = 404;
/// The longest line that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// How many lines wait at most.
const MOST_LINES: usize = 1000;
/// How much is told of a line that is too long, in bytes.
const MOST_TOLD: usize = 100;

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
    pub(super) part: Option<Part>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) directory: String,
    pub(super) title: Option<String>,
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

/// Reads lines in a thread. The channel ends with the input. A line that is too long is cut, and is no JSON then.
///
/// # Errors
/// If the system gives no thread.
pub(super) fn lines(input: impl Read + Send + 'static) -> Result<Receiver<Vec<u8>>> {
    let (sender, lines) = mpsc::sync_channel(MOST_LINES);
    thread::start(move || {
        let mut input = BufReader::new(input);
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.ends_with(b"\n") => {}
                Ok(_) => match input.skip_until(b'\n') {
                    Ok(0) | Err(_) => return,
                    Ok(_) => line.truncate(MOST_TOLD),
                },
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
    let not_known = |e: serde_json::Error| Incoming::Failed {
        id: None,
        why: format!("the plugin has sent a line in a form that is not known: {}", problem(&e)),
    };
    serde_json::from_slice(line).unwrap_or_else(not_known)
}

/// What is wrong with a text, without a word of the text: it may hold secrets of the session.
pub(super) fn problem(error: &serde_json::Error) -> String {
    let words = error.to_string();
    match error.classify() {
        Category::Data if words.starts_with("missing field") => words,
        Category::Data => format!("a field has another form, at column {}", error.column()),
        Category::Io | Category::Syntax | Category::Eof => format!("no JSON, at column {}", error.column()),
    }
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
        let Incoming::Failed { why, .. } = read(br#"{"type":"replied","id":"per_1","status":"my secret"}"#) else { panic!("it is read") };
        assert!(!why.contains("secret"), "{why}");
    }

    #[test]
    fn the_lines_behind_one_that_is_too_long_are_read() {
        let mut input = vec![b'x'; LONGEST as usize + 10];
        input.extend_from_slice(b"\n{\"type\":\"ended\",\"id\":\"per_1\"}\nhalf a line");
        let lines: Vec<_> = lines(std::io::Cursor::new(input)).unwrap().iter().collect();
        assert_eq!((lines.len(), lines[0].len()), (2, MOST_TOLD));
        assert!(matches!(read(&lines[0]), Incoming::Failed { .. }) && matches!(read(&lines[1]), Incoming::Ended { .. }));
    }
}
