//! Reading events while they are written: whole lines of a growing file, and all attempts of a round one after the other. Every
//! event comes once, in order; a line that is being written is waited for.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use crate::agent::events::Event;
use crate::disk::Lock;
use crate::disk::hints::Bell;
use crate::error::{IoContext, Result};
use crate::id::RoundId;
use crate::mailbox::{Folder, Mailbox};
use crate::run::claim::record;

/// The longest time between two looks: file events are hints, and one may be lost.
const LOOK: Duration = Duration::from_secs(60);
/// The same on a filesystem without events.
const POLL: Duration = Duration::from_millis(500);
/// A line that is longer is none of ours.
const LINE: usize = 2 * crate::agent::events::LINE_LIMIT;

/// Whole lines of a file that grows, and that may not exist yet.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    partial: Vec<u8>,
}

impl Lines {
    /// From the file's beginning.
    #[must_use]
    pub fn of(path: PathBuf) -> Self {
        Self { path, reader: None, partial: Vec::new() }
    }

    /// The next whole line that is there, without its end.
    pub fn next_line(&mut self) -> Result<Option<String>> {
        if self.reader.is_none() {
            match File::open(&self.path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                other => self.reader = Some(BufReader::new(other.io("open", &self.path)?)),
            }
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        // Where the file ends now it may go on later: the reader asks the file again each time.
        reader.read_until(b'\n', &mut self.partial).io("read", &self.path)?;
        if self.partial.last() == Some(&b'\n') {
            self.partial.pop();
            let line = String::from_utf8_lossy(&self.partial).into_owned();
            self.partial.clear();
            self.partial.shrink_to(LINE);
            return Ok(Some(line));
        }
        Ok(None)
    }

    /// The next event that is there; what is none is left out.
    pub fn next_event(&mut self) -> Result<Option<(String, Event)>> {
        while let Some(line) = self.next_line()? {
            if let Ok(event) = serde_json::from_str(&line) {
                return Ok(Some((line, event)));
            }
        }
        Ok(None)
    }
}

/// The events of a round, over all its attempts.
#[derive(Debug)]
pub struct RoundEvents<'a> {
    mailbox: &'a Mailbox,
    round: RoundId,
    attempt: u32,
    lines: Lines,
    /// Of the folder with the attempts, and of the attempt that is read.
    bell: Option<Bell>,
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// An event, as its line and as what that means.
    Event(String, Box<Event>),
    /// From here on it is this attempt's.
    Attempt(u32),
    /// Nothing more is there now.
    Nothing,
}

impl<'a> RoundEvents<'a> {
    /// From the first attempt on. With `follow`, [`RoundEvents::wait`] can be called.
    #[must_use]
    pub fn of(mailbox: &'a Mailbox, round: RoundId, follow: bool) -> Self {
        // Only who waits needs it: to take it down again lasts longer than to read all there is.
        let bell = if follow { Bell::of_folder(&mailbox.runs_of(&round)).ok() } else { None };
        let mut events = Self { mailbox, lines: Lines::of(PathBuf::new()), round, attempt: 0, bell };
        events.go_to(1);
        events
    }

    fn go_to(&mut self, attempt: u32) {
        let folder = record::folder(self.mailbox, &self.round, attempt);
        self.attempt = attempt;
        if let Some(bell) = &mut self.bell {
            // Not there yet: its coming rings as well.
            let _ = bell.also(&folder);
        }
        self.lines = Lines::of(folder.join("events.jsonl"));
    }

    /// The attempt that is read.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// What comes next, without waiting.
    pub fn read(&mut self) -> Result<Next> {
        // Looked at before the file: once the next attempt exists, nobody writes to this one any more.
        let next = record::folder(self.mailbox, &self.round, self.attempt + 1);
        let is_last = !next.exists();
        match self.lines.next_event()? {
            Some((line, event)) => Ok(Next::Event(line, Box::new(event))),
            None if is_last => Ok(Next::Nothing),
            None => {
                self.go_to(self.attempt + 1);
                Ok(Next::Attempt(self.attempt))
            }
        }
    }

    /// Whether the round may still go on: a run is live, or its next attempt comes. What is there to be read after this said no
    /// is all there will be.
    pub fn goes_on(&self) -> Result<bool> {
        Ok(self.mailbox.round(Folder::Running, &self.round).exists() || Lock::is_held(&record::lock_path(self.mailbox, &self.round))?)
    }

    /// Sleeps until something may have changed: an event, the end of a run, another attempt.
    pub fn wait(&mut self) {
        match &mut self.bell {
            Some(bell) => {
                // Where the attempt's folder has come only now.
                let folder = record::folder(self.mailbox, &self.round, self.attempt);
                if !bell.hears(&folder) && bell.also(&folder).is_ok() {
                    return;
                }
                bell.wait(LOOK);
            }
            None => std::thread::sleep(POLL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_that_is_being_written_is_waited_for_and_no_character_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut lines = Lines::of(path.clone());
        assert_eq!(lines.next_line().unwrap(), None);
        let mut file = File::create(&path).unwrap();
        let text = "one é two\nthree\n";
        let mut read = Vec::new();
        for byte in text.as_bytes() {
            file.write_all(&[*byte]).unwrap();
            read.extend(lines.next_line().unwrap());
        }
        assert_eq!(read, ["one é two", "three"]);
        assert_eq!(lines.next_line().unwrap(), None);
    }
}
