//! Reads events while they are written: [`EventTail`] one attempt's file, [`RoundEvents`] all attempts of a round, one after the
//! other. Every event comes once, in order. A line comes only when it is complete.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use crate::agent::events::Event;
use crate::disk::file_events::FolderWatch;
use crate::disk::{self, Lock};
use crate::error::{IoContext, Result};
use crate::id::RoundId;
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::record;
use crate::run::supervise::partial_text;
use crate::run::view::partial_tail::{PartialTail, Piece};

/// The longest sleep if file events are available: one may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(60);
/// The sleep if no file events are available.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// The buffer that is kept between two lines, in bytes.
const KEPT_BUFFER: usize = 2 * crate::agent::events::LINE_LIMIT;

/// Reads the complete lines of a growing `events.jsonl`. The file may not exist yet.
#[derive(Debug)]
pub struct EventTail {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    /// A line whose end is not written yet.
    incomplete: Vec<u8>,
    /// The number of the last event that was read.
    last_seq: u64,
    partial: Option<PartialTail>,
}

impl EventTail {
    /// Starts at the beginning of the file.
    #[must_use]
    pub fn of(path: PathBuf) -> Self {
        Self { path, reader: None, incomplete: Vec::new(), last_seq: 0, partial: None }
    }

    /// The next complete line, without its newline. `None` if there is none yet.
    pub fn next_line(&mut self) -> Result<Option<String>> {
        if self.reader.is_none() {
            match disk::open_to_read(&self.path) {
                Err(e) if e.is_missing_file() => return Ok(None),
                other => self.reader = Some(BufReader::new(other?)),
            }
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        // At the end of the file the reader returns what there is; the next call continues there.
        reader.read_until(b'\n', &mut self.incomplete).io("read", &self.path)?;
        if self.incomplete.last() == Some(&b'\n') {
            self.incomplete.pop();
            let line = String::from_utf8_lossy(&self.incomplete).into_owned();
            self.incomplete.clear();
            self.incomplete.shrink_to(KEPT_BUFFER);
            return Ok(Some(line));
        }
        Ok(None)
    }

    /// [`EventTail::next_event`] then returns also the text that is being generated, as events `partial`.
    #[must_use]
    pub fn with_partial_text(mut self) -> Self {
        self.partial = self.path.parent().map(|folder| PartialTail::of(partial_text::path(folder)));
        self
    }

    /// The next event, as its line and parsed. `None` if there is none yet. Lines that are not events are skipped.
    pub fn next_event(&mut self) -> Result<Option<(String, Event)>> {
        let mut looked_again = false;
        loop {
            while let Some(line) = self.next_line()? {
                if let Ok(event) = serde_json::from_str::<Event>(&line) {
                    self.last_seq = event.seq;
                    return Ok(Some((line, event)));
                }
            }
            let Some(partial) = &mut self.partial else { return Ok(None) };
            match partial.next(self.last_seq)? {
                Piece::Next(line, event) => return Ok(Some((line, *event))),
                Piece::None => return Ok(None),
                // Its event was written before it, unless that failed.
                Piece::Ahead if looked_again => partial.skip(),
                Piece::Ahead => looked_again = true,
            }
        }
    }
}

/// The events of a round, of all its attempts.
#[derive(Debug)]
pub struct RoundEvents<'a> {
    mailbox: &'a Mailbox,
    round: RoundId,
    attempt: u32,
    tail: EventTail,
    with_partial_text: bool,
    /// Watches the folder of the attempts and the attempt that is read.
    folder_watch: Option<FolderWatch>,
}

/// What [`RoundEvents::read`] returns.
#[derive(Debug)]
pub enum Next {
    /// An event, as its line and parsed.
    Event(String, Box<Event>),
    /// The events after this belong to this attempt.
    Attempt(u32),
    /// There are no more events now.
    Nothing,
}

impl<'a> RoundEvents<'a> {
    /// Starts at the first attempt. With `follow`, [`RoundEvents::wait`] is woken by file events.
    #[must_use]
    pub fn of(mailbox: &'a Mailbox, round: RoundId, follow: bool) -> Self {
        // Not without `follow`: closing the watch takes longer than reading all events.
        let folder_watch = if follow { FolderWatch::new(&mailbox.runs_of(&round)).ok() } else { None };
        let tail = EventTail::of(PathBuf::new());
        let mut events = Self { mailbox, tail, round, attempt: 0, with_partial_text: false, folder_watch };
        events.go_to(1);
        events
    }

    /// [`RoundEvents::read`] then returns also the text that is being generated, as events `partial`.
    #[must_use]
    pub fn with_partial_text(mut self) -> Self {
        self.with_partial_text = true;
        self.go_to(self.attempt);
        self
    }

    fn go_to(&mut self, attempt: u32) {
        let folder = record::folder(self.mailbox, &self.round, attempt);
        self.attempt = attempt;
        if let Some(folder_watch) = &mut self.folder_watch {
            // If the attempt does not exist yet, the watch of its parent folder reports its creation.
            let _ = folder_watch.add(&folder);
        }
        let tail = EventTail::of(folder.join("events.jsonl"));
        self.tail = if self.with_partial_text { tail.with_partial_text() } else { tail };
    }

    /// Starts after this attempt.
    #[must_use]
    pub fn after(mut self, attempt: u32) -> Self {
        self.go_to(attempt + 1);
        self
    }

    /// The round that is read.
    #[must_use]
    pub fn round(&self) -> &RoundId {
        &self.round
    }

    /// The number of the attempt that is read.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The next event or attempt. Does not wait.
    pub fn read(&mut self) -> Result<Next> {
        // Checked before the file is read: once the next attempt exists, nothing writes to this one.
        let next = record::folder(self.mailbox, &self.round, self.attempt + 1);
        let is_last = !disk::exists(&next);
        match self.tail.next_event()? {
            Some((line, event)) => Ok(Next::Event(line, Box::new(event))),
            None if is_last => Ok(Next::Nothing),
            None => {
                self.go_to(self.attempt + 1);
                Ok(Next::Attempt(self.attempt))
            }
        }
    }

    /// Whether more events may come: a run is live, or another attempt follows. After `false`, [`read`](Self::read) what is left.
    pub fn goes_on(&self) -> Result<bool> {
        self.mailbox.check_in_place()?;
        Ok(disk::exists(self.mailbox.round(Folder::Running, &self.round)) || Lock::is_held(&record::lock_path(self.mailbox, &self.round))?)
    }

    /// Sleeps until there may be something new: an event, the end of a run, another attempt.
    pub fn wait(&mut self) {
        match &mut self.folder_watch {
            Some(folder_watch) => {
                // The attempt's folder was created only now.
                let folder = record::folder(self.mailbox, &self.round, self.attempt);
                if !folder_watch.watches(&folder) && folder_watch.add(&folder).is_ok() {
                    return;
                }
                folder_watch.wait(RECHECK_EVERY);
            }
            None => std::thread::sleep(POLL_EVERY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_comes_only_when_it_is_complete_and_no_character_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut tail = EventTail::of(path.clone());
        assert_eq!(tail.next_line().unwrap(), None);
        let mut file = File::create(&path).unwrap();
        let text = "one é two\nthree\n";
        let mut read = Vec::new();
        for byte in text.as_bytes() {
            file.write_all(&[*byte]).unwrap();
            read.extend(tail.next_line().unwrap());
        }
        assert_eq!(read, ["one é two", "three"]);
        assert_eq!(tail.next_line().unwrap(), None);
    }
}
