//! Reading along: the events of a workflow's newest run, as words or as JSON Lines. Following waits for file events and for the
//! run's lock; every line is printed once, a line that is being written is waited for.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::Lock;
use crate::error::{Error, IoContext, Result};
use crate::hints::Bell;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::{Mailbox, close};
use crate::run::events::{Event, EventKind};
use crate::run::record::{self, Run};
use crate::surface::program;
use crate::text;

/// The longest time between two looks, where no event comes.
const LOOK: Duration = Duration::from_secs(5);

/// `relaunch events` and `relaunch logs`.
pub fn follow(mailbox: &Mailbox, workflow: &WorkflowId, follow: bool, since: u64, json: bool) -> Result<u8> {
    let (round, mut run) = newest(mailbox, workflow)?;
    let mut since = since;
    loop {
        let path = run.folder(mailbox).join("events.jsonl");
        print_run(mailbox, &round, &path, follow, since, json)?;
        // A later attempt may have come meanwhile.
        match record::latest(mailbox, &round)? {
            Some(next) if next.attempt > run.attempt => (run, since) = (next, 0),
            _ => return Ok(0),
        }
    }
}

fn newest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<(RoundId, Run)> {
    let mut rounds = close::rounds(mailbox, workflow);
    while let Some(found) = rounds.pop() {
        if let Some(run) = record::latest(mailbox, &found.round)? {
            return Ok((found.round, run));
        }
    }
    Err(Error::not_found(format!("{workflow} has no run"), "see where it stands: relaunch status"))
}

fn print_run(mailbox: &Mailbox, round: &RoundId, path: &Path, follow: bool, since: u64, json: bool) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let bell = if follow { Bell::of_folder(folder).ok() } else { None };
    let mut lines = Tail { path: path.to_path_buf(), reader: None, partial: String::new() };
    loop {
        // Looked at before the file: what a live run wrote before it let go of the lock is then surely read.
        let live = Lock::is_held(&record::lock_path(mailbox, round))?;
        while let Some(line) = lines.next()? {
            match serde_json::from_str::<Event>(&line) {
                Ok(event) if event.seq <= since => {}
                Ok(_) if json => program::print(&format!("{}\n", text::escape_json(&line)))?,
                Ok(event) => program::print(&words(&event))?,
                Err(_) => program::warn(&format!("{}: a line is no event", path.display())),
            }
        }
        if !follow || !live {
            return Ok(());
        }
        match &bell {
            Some(bell) => bell.wait(LOOK),
            None => std::thread::sleep(Duration::from_millis(500)),
        }
    }
}

/// Whole lines of a file that grows.
struct Tail {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    partial: String,
}

impl Tail {
    fn next(&mut self) -> Result<Option<String>> {
        if self.reader.is_none() {
            match File::open(&self.path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                other => self.reader = Some(BufReader::new(other.io("open", &self.path)?)),
            }
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let mut bytes = Vec::new();
        reader.read_until(b'\n', &mut bytes).io("read", &self.path)?;
        self.partial.push_str(&String::from_utf8_lossy(&bytes));
        if self.partial.ends_with('\n') {
            let mut line = std::mem::take(&mut self.partial);
            line.pop();
            return Ok(Some(line));
        }
        // The reader must look again where the file ended.
        let at = reader.stream_position().io("read", &self.path)?;
        reader.seek(SeekFrom::Start(at)).io("read", &self.path)?;
        Ok(None)
    }
}

/// One event as JSON and a newline.
#[must_use]
pub fn json_line(event: &Event) -> String {
    serde_json::to_string(event).map(|json| text::escape_json(&json) + "\n").unwrap_or_default()
}

/// One event for people: `12:03:44  tool    Bash  {"command": …}`; nothing for what only programs care about.
#[must_use]
pub fn words(event: &Event) -> String {
    let cut = |s: &str| text::excerpt(s, 300);
    let (what, said) = match &event.kind {
        EventKind::Started { session_id, model, resumed, .. } => {
            ("began", format!("session {session_id} {model}{}", if resumed.is_some() { " (continued)" } else { "" }))
        }
        EventKind::Text { text, .. } => ("says", text::printable(text).trim_end().replace('\n', "\n                   ")),
        EventKind::Thinking { .. } => ("thinks", String::new()),
        EventKind::ToolCall { name, input, .. } => ("tool", format!("{name}  {}", cut(&input.to_string()))),
        EventKind::ToolResult { is_error, text, bytes, .. } => {
            (if *is_error { "tool failed" } else { "tool done" }, format!("{} ({bytes} bytes)", cut(text)))
        }
        EventKind::Throttled { status, retry, delay_ms, error, .. } => (
            "throttled",
            format!(
                "{} {error}, retry {retry} in {}.{}s",
                status.map(|s| s.to_string()).unwrap_or_default(),
                delay_ms / 1000,
                delay_ms % 1000 / 100
            ),
        ),
        EventKind::Silent { seconds } => ("silent", format!("{seconds}s")),
        EventKind::QuestionPosted { workflow_id, .. } => ("asks", format!("answer it: ask-answer {}", cut(workflow_id))),
        EventKind::Permission { tool, decision, .. } => ("permission", format!("{} {}", cut(decision), cut(tool))),
        EventKind::Interrupted { how, session_id, .. } => {
            ("stopped", format!("{}; session {}", cut(how), session_id.as_deref().unwrap_or("not begun")))
        }
        EventKind::Result { is_error, text, turns, cost_usd, .. } => {
            let cost = cost_usd.map(|c| format!(", ${c:.4}")).unwrap_or_default();
            (if *is_error { "failed" } else { "result" }, format!("{} ({turns} turns{cost})", text::printable(text).trim_end()))
        }
        EventKind::Parked { why } => ("parked", cut(why)),
        EventKind::Note { text } => ("note", cut(text)),
        EventKind::Raw { .. } | EventKind::Unknown => return String::new(),
    };
    format!("{}  {what:<9}{}{said}\n", event.at.format("%H:%M:%S"), if said.is_empty() { "" } else { " " })
}
