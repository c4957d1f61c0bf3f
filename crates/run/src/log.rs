//! The watcher's log: `tracing` events as lines on standard error, as text or as JSON. `tracing-subscriber` is not used, because it is
//! larger than the whole program.
//!
//! An event has a `message` and may have an `event` (a word), a `workflow`, a `hint` and other fields. The text shows these four; the
//! JSON shows all fields.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use askbox_mailbox::{Error, Result, text, time};

/// Writes the events of this process from the level `INFO` up to standard error from now on: as lines for people, or as one JSON object a
/// line. Does nothing if the process has set a subscriber of `tracing` before.
pub fn to_stderr(in_json: bool) {
    IS_JSON.store(in_json, Ordering::Relaxed);
    set(Level::INFO);
}

/// Writes warnings and errors alone, as lines for people.
pub fn warnings_to_stderr() {
    set(Level::WARN);
}

/// True if this process logs JSON.
pub fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

static IS_JSON: AtomicBool = AtomicBool::new(false);

fn set(level: Level) {
    // A subscriber that the program has set before stays.
    let _ = tracing::subscriber::set_global_default(StderrLog { level, stderr: Mutex::default() });
}

/// Logs an error with its hint.
pub fn error(error: &Error) {
    tracing::error!(hint = %text::one_line(&error.hint()), "{}", text::one_line(&error.to_string()));
}

/// The value; an error goes to the log.
pub fn ok<T>(result: Result<T>) -> Option<T> {
    result.inspect_err(error).ok()
}

struct StderrLog {
    level: Level,
    stderr: Mutex<PatientStderr>,
}

impl StderrLog {
    fn line(&self, fields: Fields, level: Level) -> String {
        let at = time::rfc3339(time::now());
        if is_json() { fields.json(at, level) } else { fields.text(&at, level) }
    }
}

impl Subscriber for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.is_event()
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = self.line(fields, *event.metadata().level());
        let lost = |lost| self.line(Fields::of_lost_lines(lost), Level::WARN);
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).write(&line, lost);
    }

    // Spans are not used.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn of_lost_lines(lost: u64) -> Self {
        let message = format!("{lost} lines of this log are lost: what reads it, or its disk, took no more");
        Self(Map::from_iter([("message".to_owned(), message.into()), ("event".to_owned(), "log_lost".into())]))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        match self.0.remove(name)? {
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    fn text(mut self, at: &str, level: Level) -> String {
        let mut line = format!("{at}  ");
        if level <= Level::WARN {
            line.push_str(if level == Level::ERROR { "error: " } else { "warning: " });
        }
        if let Some(word) = self.take("event") {
            let _ = write!(line, "{word:<8}  ");
        }
        if let Some(workflow) = self.take("workflow") {
            line.push_str(&workflow);
            line.push_str("  ");
        }
        line.push_str(&self.take("message").unwrap_or_default());
        if let Some(hint) = self.take("hint") {
            let _ = write!(line, " (hint: {hint})");
        }
        text::one_line(line.trim_end()) + "\n"
    }

    fn json(self, at: String, level: Level) -> String {
        let mut line = Map::new();
        line.insert("at".into(), at.into());
        line.insert("level".into(), level.as_str().to_ascii_lowercase().into());
        line.extend(self.0);
        text::escape_json(&Value::Object(line).to_string()) + "\n"
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }
}

/// How long to wait once for a reader that has stopped reading.
const WAIT: Duration = Duration::from_millis(200);
/// The most bytes that a pipe or socket surely takes without blocking once it reports that it can be written to: `PIPE_BUF`.
const PIECE: usize = 4096;

/// Lines on their way to standard error. A line that was begun is completed later. Lines that come before it is complete are
/// counted and lost.
#[derive(Debug, Default)]
struct PatientStderr {
    /// The part of the current line that is not written yet.
    rest: Vec<u8>,
    lost: u64,
    /// True if the reader did not read within [`WAIT`]. Then there is no more waiting until the reader reads again.
    is_stuck: bool,
}

impl PatientStderr {
    /// Writes a line as far as possible now. `notice` returns the line that says how many lines were lost before.
    pub(crate) fn write(&mut self, line: &str, notice: impl FnOnce(u64) -> String) {
        if self.push() && self.lost > 0 {
            self.rest = notice(self.lost).into_bytes();
            self.lost = 0;
            self.push();
        }
        if !self.rest.is_empty() {
            self.lost += 1;
            return;
        }
        self.rest = line.as_bytes().to_vec();
        self.push();
    }

    /// Writes the rest of the last line. Returns true if the line is complete.
    fn push(&mut self) -> bool {
        while !self.rest.is_empty() && self.can_write() {
            let piece = &self.rest[..self.rest.len().min(PIECE)];
            #[allow(clippy::disallowed_methods, reason = "the lines are filtered")]
            // An error, such as a full disk, cannot be reported anywhere. The rest of the line is tried again with the next line.
            match std::io::stderr().write(piece) {
                Ok(written) if written > 0 => drop(self.rest.drain(..written)),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        self.rest.is_empty()
    }

    fn can_write(&mut self) -> bool {
        let wait = if self.is_stuck { Duration::ZERO } else { WAIT };
        let stderr = rustix::stdio::stderr();
        let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        // If `poll` fails, the write reports the error.
        self.is_stuck = poll(&mut fds, Some(&timeout)) == Ok(0);
        !self.is_stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, Value)]) -> Fields {
        Fields(pairs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect())
    }

    #[test]
    fn a_line_for_people_shows_no_terminal_escape() {
        let launched = [("message", "attempt 1".into()), ("event", "launched".into()), ("workflow", "docs".into()), ("attempt", 1.into())];
        assert_eq!(fields(&launched).text("T", Level::INFO), "T  launched  docs  attempt 1\n");
        let error = [("message", "no\n\u{1b}[31mdisk".into()), ("hint", "make room".into())];
        assert_eq!(fields(&error).text("T", Level::ERROR), "T  error: no [31mdisk (hint: make room)\n");
    }

    #[test]
    fn a_line_for_programs_is_one_object_with_every_field() {
        let launched = [("message", "a\nb\u{202e}".into()), ("event", "launched".into()), ("attempt", 1.into())];
        let line = fields(&launched).json("T".into(), Level::INFO);
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1 && line.is_ascii(), "{line:?}");
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value, serde_json::json!({"at": "T", "level": "info", "message": "a\nb\u{202e}", "event": "launched", "attempt": 1}));
    }
}
