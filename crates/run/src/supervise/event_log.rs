//! The event log of one attempt: each event is appended to `events.jsonl`, its cost is booked, and the observer is called with it.
//!
//! `partial.jsonl` of one attempt: the text that the model is generating, piece by piece. The file begins anew with each text and is
//! removed at the end of the attempt. So it never takes more room than one text, however much an agent writes.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use crate::activity::so_far::{self, LARGEST_PARTIAL, partial_path};
use crate::attempt::record::{self, Run, RunState};
use crate::money::costs::Book;
use askbox_agent::events::{Event, EventKind, EventWriter, FILE_LIMIT, Generated, LINE_LIMIT, read_tail, write_line};
use askbox_agent::stream::Generating;
use askbox_mailbox::untrusted::Untrusted;
use askbox_mailbox::{Error, IoContext, Mailbox, Result, Time, disk, time};

/// The size of `events.jsonl`, in bytes, that leaves room for important events only.
const ROOM: u64 = 64 << 20;
/// The size, in bytes, at which important events are left out as well, except the last one of a run.
const ROOM_FOR_IMPORTANT: u64 = ROOM + (8 << 20);
/// A reader must not refuse what is written here: room is left for the last lines.
const _: () = assert!(ROOM_FOR_IMPORTANT + 16 * (LINE_LIMIT as u64) < FILE_LIMIT);

/// The most characters of a version that are kept.
const VERSION: usize = 40;

/// The limit for events of this kind: they are written while the file is smaller.
fn room_for(kind: &EventKind) -> u64 {
    match kind {
        // These come at most once each.
        EventKind::Interrupted { .. } | EventKind::Parked { .. } => u64::MAX,
        // The end of the run, its cost and its questions depend on these events, or they say what the supervisor did.
        EventKind::Started { .. } | EventKind::Result { .. } | EventKind::QuestionPosted { .. } => ROOM_FOR_IMPORTANT,
        EventKind::Throttled { .. } | EventKind::Retrying { .. } | EventKind::Silent { .. } | EventKind::Note { .. } => ROOM_FOR_IMPORTANT,
        EventKind::Text { .. } | EventKind::Thinking { .. } | EventKind::Generating { .. } | EventKind::Partial { .. } => ROOM,
        EventKind::ToolCall { .. } | EventKind::ToolResult { .. } | EventKind::Permission { .. } => ROOM,
        EventKind::Raw { .. } | EventKind::Unknown => ROOM,
    }
}

/// Writes the events of one attempt.
pub(crate) struct EventLog<'a> {
    mailbox: &'a Mailbox,
    run: Run,
    /// Opened by the first event.
    writer: Option<EventWriter<File>>,
    /// A summary of the events so far, for readers.
    activity: Option<so_far::Keeper>,
    /// True if a note already says that events are left out.
    left_out_noted: bool,
    /// The kind of output that the model has been generating since the last event.
    generating: Option<Generated>,
    partial: PartialText,
    observe: &'a mut dyn FnMut(&Event),
    /// The first event that could not be written.
    failed: Option<Error>,
    pub(crate) book: Book,
    /// The version of the agent program.
    pub(crate) agent_version: Option<String>,
}

impl<'a> EventLog<'a> {
    /// The log of `run`. Nothing is opened or created before the first event.
    pub(crate) fn new(mailbox: &'a Mailbox, run: &Run, observe: &'a mut dyn FnMut(&Event)) -> Self {
        Self {
            mailbox,
            run: run.clone(),
            writer: None,
            activity: None,
            left_out_noted: false,
            generating: None,
            partial: PartialText::of_run(mailbox, run),
            observe,
            failed: None,
            book: Book::of_run(mailbox, run),
            agent_version: None,
        }
    }

    /// Records an event. Never fails: the agent's work goes on when the disk is full. [`EventLog::finish`] returns the error.
    pub(crate) fn event(&mut self, kind: EventKind) {
        let at = time::now();
        if let EventKind::Started { version, .. } = &kind {
            self.agent_version = Some(version.excerpt(VERSION)).filter(|version| !version.is_empty());
        }
        if let Err(e) = self.book.take(at, &kind) {
            let _ = self.append(at, &EventKind::Note { text: format!("a turn's cost could not be booked: {e}").into() });
        }
        let seq = self.append(at, &kind).unwrap_or_else(|e| {
            self.failed.get_or_insert(e);
            self.writer.as_ref().map_or(0, |writer| writer.last_seq)
        });
        self.generating = None;
        self.partial.clear();
        (self.observe)(&Event { seq, at, kind });
    }

    /// Records that the model generates, once until the next event, and passes its words on to those who read them now.
    pub(crate) fn generating(&mut self, now: Generating) {
        let (what, text) = match now {
            Generating::Answer => {
                self.generating = None;
                self.partial.clear();
                return;
            }
            Generating::Text(text) => (Generated::Text, text),
            Generating::Thinking => (Generated::Thinking, Untrusted::default()),
            Generating::ToolInput => (Generated::ToolInput, Untrusted::default()),
        };
        if self.generating != Some(what) {
            self.event(EventKind::Generating { what });
            self.generating = Some(what);
        }
        // Without room for events, the next text would have the same `seq`, and a piece of one could not be told from a piece of the
        // other.
        if let Some(writer) = self.writer.as_ref().filter(|writer| !text.is_empty() && writer.size < ROOM) {
            let (seq, at) = (writer.last_seq, time::now());
            let kind = self.partial.add(seq, at, text);
            (self.observe)(&Event { seq, at, kind });
        }
    }

    /// Records a remark for people who read the log.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.event(EventKind::Note { text: text.into().into() });
    }

    /// Records the next step of a run that failed.
    pub(crate) fn failure(&mut self, run: &Run) {
        let why = run.why.clone().unwrap_or_default();
        match (run.state, run.retry_at) {
            (RunState::Parked, _) => self.event(EventKind::Parked { why: why.into() }),
            (RunState::Failed, Some(at)) if run.is_throttled() => {
                let wait = (at - time::now()).num_milliseconds();
                let delay_ms = u64::try_from(wait).unwrap_or(0);
                let status = run.failure.as_ref().and_then(|f| f.status);
                self.event(EventKind::Throttled { status, retry: run.attempt, max_retries: None, delay_ms, error: why.into() });
            }
            (RunState::Failed, _) => self.note(format!("failed: {why}")),
            _ => {}
        }
    }

    /// Books the turns that are not booked yet. A failure is noted. It is returned only if the disk is full, because room may come. Any
    /// other failure, such as a folder in the place of the bookings, must not keep the run from its end.
    pub(crate) fn book_rest(&mut self) -> Result<()> {
        let Err(e) = self.book.close() else { return Ok(()) };
        self.note(format!("the cost of the last turns could not be booked: {e}"));
        if e.is_full_disk() { Err(e) } else { Ok(()) }
    }

    /// The first error of writing, if any.
    pub(crate) fn finish(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Appends an event if there is room for its kind. Returns its number. If the event is left out, that is the number of the last one.
    fn append(&mut self, at: Time, kind: &EventKind) -> Result<u64> {
        let path = path(self.mailbox, &self.run);
        let noted = self.left_out_noted;
        let writer = self.writer()?;
        if writer.size < room_for(kind) {
            let (seq, bytes) = (writer.append(at, kind).io("write", path)?, writer.size);
            if let Some(activity) = &mut self.activity {
                activity.wrote(seq, at, kind, bytes);
            }
            return Ok(seq);
        }
        let last_seq = writer.last_seq;
        if !noted {
            let text = format!("{} MiB of events: texts, thoughts and tool calls of this attempt are no longer recorded", ROOM >> 20);
            writer.append(at, &EventKind::Note { text: text.into() }).io("write", path)?;
            self.left_out_noted = true;
        }
        Ok(last_seq)
    }

    fn writer(&mut self) -> Result<&mut EventWriter<File>> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => {
                let path = path(self.mailbox, &self.run);
                disk::touch_folder(&self.run.folder(self.mailbox))?;
                let mut file = disk::open_append(&path)?;
                self.activity = so_far::Keeper::of(&self.run.folder(self.mailbox), &file);
                let mut tail = read_tail(&mut file).io("read", path)?;
                if tail.last_seq == 0 {
                    tail.last_seq = last_seq_of_earlier_attempts(self.mailbox, &self.run);
                }
                Ok(none.insert(EventWriter::after(file, tail)))
            }
        }
    }
}

/// Removes the log of an attempt whose claim is undone.
pub(crate) fn remove(mailbox: &Mailbox, run: &Run) {
    let _ = disk::untouch(&path(mailbox, run));
}

fn path(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("events.jsonl")
}

/// The number of the last event before this attempt. Numbers continue over the attempts of a round, so that a number names one
/// event of the round.
fn last_seq_of_earlier_attempts(mailbox: &Mailbox, run: &Run) -> u64 {
    let last_seq = |attempt| {
        let mut file = disk::open_to_read(&record::folder(mailbox, &run.round(), attempt).join("events.jsonl")).ok()?;
        read_tail(&mut file).ok().map(|tail| tail.last_seq).filter(|seq| *seq > 0)
    };
    (1..run.attempt).rev().find_map(last_seq).unwrap_or(0)
}

/// Writes the file. An error only costs its readers some words, because the whole text follows as an event.
#[derive(Debug)]
struct PartialText {
    path: PathBuf,
    /// Opened by the first piece.
    file: Option<File>,
    size: u64,
    /// The bytes of the text so far.
    offset: u64,
    line: Vec<u8>,
}

impl PartialText {
    /// For an attempt. Nothing is opened or created before the first piece.
    pub(crate) fn of_run(mailbox: &Mailbox, run: &Run) -> Self {
        Self { path: partial_path(&run.folder(mailbox)), file: None, size: 0, offset: 0, line: Vec::new() }
    }

    /// Adds a piece, behind the event `seq`. Returns it as an event.
    pub(crate) fn add(&mut self, seq: u64, at: Time, text: Untrusted) -> EventKind {
        let length = text.raw().len() as u64;
        let piece = EventKind::Partial { offset: self.offset, text };
        self.offset += length;
        self.line.clear();
        if write_line(&mut self.line, seq, at, &piece).is_ok() && self.size + self.line.len() as u64 <= LARGEST_PARTIAL {
            if self.file.is_none() {
                // An earlier supervisor of the attempt may have left it.
                self.file = disk::open_append(&self.path).ok().filter(|file| disk::empty(file).is_ok());
            }
            let written = self.file.as_mut().is_some_and(|file| file.write_all(&self.line).is_ok());
            // After an error nothing more of this text is written.
            self.size = if written { self.size + self.line.len() as u64 } else { LARGEST_PARTIAL };
        }
        piece
    }

    /// Clears the file, because the text is complete or void. The next piece begins another text.
    pub(crate) fn clear(&mut self) {
        if self.offset > 0
            && let Some(file) = &self.file
        {
            self.size = if disk::empty(file).is_ok() { 0 } else { LARGEST_PARTIAL };
        }
        self.offset = 0;
    }
}

impl Drop for PartialText {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = disk::untouch(&self.path);
        }
    }
}
