//! Reads events while they are written: [`EventTail`] reads one attempt's file, and [`RoundEvents`] reads all attempts of a round, one
//! after the other. Every event comes once, in order. A line comes only when it is complete.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use crate::activity::so_far::{LARGEST_PARTIAL, partial_path};
use crate::attempt::record;
use askbox_agent::events::{self, EventLine};
use askbox_agent::{Event, EventKind};
use askbox_mailbox::{Folder, FolderWatch, IoContext, Lock, Mailbox, Result, RoundId, disk};

/// The longest sleep if file events are available: one may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(60);
/// The sleep if no file events are available.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Reads the complete lines of a growing `events.jsonl`. The file may not exist yet.
pub struct EventTail {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    /// A line whose end is not written yet.
    incomplete: EventLine,
    /// The number of the last event that was read.
    last_seq: u64,
    partial: Option<PartialTail>,
}

impl EventTail {
    /// Starts at the beginning of the file.
    pub fn new(path: PathBuf) -> Self {
        Self { path, reader: None, incomplete: EventLine::default(), last_seq: 0, partial: None }
    }

    /// The next complete line, without its newline. `None` if there is none yet.
    pub fn next_line(&mut self) -> Result<Option<String>> {
        if self.reader.is_none() {
            self.reader = disk::if_there(events::open(&self.path))?.map(BufReader::new);
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        // At the end of the file the reader returns what there is; the next call continues there.
        if !self.incomplete.read_on(reader).io("read", &self.path)? {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&self.incomplete.text).into_owned();
        self.incomplete.clear();
        Ok(Some(line))
    }

    /// Makes [`EventTail::next_event`] also return the text that is being generated, as events `partial`.
    pub fn with_partial_text(mut self) -> Self {
        self.partial = self.path.parent().map(|folder| PartialTail::new(partial_path(folder)));
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
                // The event before the piece was written first, unless writing it failed.
                Piece::Ahead if looked_again => partial.skip(),
                Piece::Ahead => looked_again = true,
            }
        }
    }
}

/// The events of a round, of all its attempts.
pub struct RoundEvents<'a> {
    mailbox: &'a Mailbox,
    pub(super) round: RoundId,
    pub(super) attempt: u32,
    tail: EventTail,
    with_partial_text: bool,
    /// Watches the folder of the attempts and the attempt that is read.
    folder_watch: Option<FolderWatch>,
}

/// The result of [`RoundEvents::read`].
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
    pub fn new(mailbox: &'a Mailbox, round: RoundId, follow: bool) -> Self {
        // Only with `follow`, because closing the watch takes longer than reading all events.
        let folder_watch = if follow { FolderWatch::new(&mailbox.runs_of(&round)).ok() } else { None };
        let tail = EventTail::new(PathBuf::new());
        let mut events = Self { mailbox, tail, round, attempt: 0, with_partial_text: false, folder_watch };
        events.go_to(1);
        events
    }

    /// Makes [`RoundEvents::read`] also return the text that is being generated, as events `partial`.
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
        let tail = EventTail::new(folder.join("events.jsonl"));
        self.tail = if self.with_partial_text { tail.with_partial_text() } else { tail };
    }

    /// Starts after this attempt.
    pub fn after(mut self, attempt: u32) -> Self {
        self.go_to(attempt + 1);
        self
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

    /// True if more events may come, because a run is live or another attempt follows. After `false`, [`read`](Self::read) the rest.
    pub fn goes_on(&self) -> Result<bool> {
        self.mailbox.check_in_place()?;
        Ok(disk::exists(self.mailbox.round(Folder::Running, &self.round)) || Lock::is_held(&record::lock_path(self.mailbox, &self.round))?)
    }

    /// Sleeps until there may be something new: an event, the end of a run, another attempt.
    pub fn wait(&mut self) {
        match &mut self.folder_watch {
            Some(folder_watch) => {
                // The attempt's folder did not exist before.
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

/// The result of [`PartialTail::next`].
enum Piece {
    /// A piece of the text behind the last event, as its line and parsed.
    Next(String, Box<Event>),
    /// A piece that belongs after events that the caller has not read yet. The same piece comes again.
    Ahead,
    /// No piece is there yet.
    None,
}

/// Returns every piece once, in order, from the beginning of a text. Pieces of a text are left out once the event with the whole text
/// was read.
struct PartialTail {
    path: PathBuf,
    file: Option<File>,
    /// The bytes of the file that were read.
    read: u64,
    /// Bytes that were read and not returned yet. The last line may be incomplete.
    unread: Vec<u8>,
    /// The text of the last piece, named by the event before it, and where that piece ended.
    last: (u64, u64),
}

impl PartialTail {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, read: 0, unread: Vec::new(), last: (0, 0) }
    }

    /// The next piece behind the event `seq`.
    pub(super) fn next(&mut self, seq: u64) -> Result<Piece> {
        self.read_on()?;
        let mut from_the_beginning = false;
        while let Some(end) = self.unread.iter().position(|&b| b == b'\n') {
            let line = String::from_utf8_lossy(&self.unread[..end]).into_owned();
            let event = serde_json::from_str::<Event>(&line).ok();
            let piece = event.as_ref().and_then(|event| match &event.kind {
                EventKind::Partial { offset, text } => Some((event.seq, *offset, *offset + text.raw().len() as u64)),
                _ => None,
            });
            // The file may have begun anew and grown longer than before. Then it was read from the middle of a line or of a text.
            let is_in_the_middle = piece.is_none_or(|(of, offset, _)| of != self.last.0 && offset > 0);
            if is_in_the_middle && !from_the_beginning {
                from_the_beginning = true;
                (self.read, self.unread) = (0, Vec::new());
                self.read_on()?;
                continue;
            }
            match (event, piece) {
                (Some(_), Some((of, ..))) if of > seq => return Ok(Piece::Ahead),
                (Some(event), Some((of, offset, to))) if of == seq && (of, offset) >= self.last => {
                    self.unread.drain(..=end);
                    self.last = (of, to);
                    return Ok(Piece::Next(line, Box::new(event)));
                }
                // This line was read before, belongs to a text that is complete, or is not a piece.
                _ => drop(self.unread.drain(..=end)),
            }
        }
        Ok(Piece::None)
    }

    /// Leaves out the pieces that were read from the file so far.
    pub(super) fn skip(&mut self) {
        self.unread.clear();
    }

    fn read_on(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file = disk::if_there(disk::open_to_read(&self.path))?;
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let size = file.metadata().io("read", &self.path)?.len();
        if size < self.read {
            self.read = 0;
            self.unread.clear();
        }
        if size > LARGEST_PARTIAL {
            // More than the supervisor writes. The whole text follows as an event.
            (self.read, self.unread) = (size, Vec::new());
        }
        file.seek(SeekFrom::Start(self.read)).io("read", &self.path)?;
        // Only up to the earlier size, because the file may grow during the read.
        self.read += file.by_ref().take(size - self.read).read_to_end(&mut self.unread).io("read", &self.path)? as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_line_comes_when_it_is_complete_with_whole_characters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut tail = EventTail::new(path.clone());
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

    /// A piece of the text behind the event `seq`, as a line.
    fn line(seq: u64, offset: u64, text: &str) -> String {
        format!("{{\"seq\":{seq},\"at\":\"2026-11-23T01:00:00.000Z\",\"type\":\"partial\",\"offset\":{offset},\"text\":\"{text}\"}}\n")
    }

    fn write(path: &Path, lines: &[String]) {
        std::fs::write(path, lines.concat()).unwrap();
    }

    /// All words behind the event `seq` that have not been read.
    fn words(tail: &mut PartialTail, seq: u64) -> String {
        let mut all = String::new();
        loop {
            match tail.next(seq).unwrap() {
                Piece::Next(_, event) => match event.kind {
                    EventKind::Partial { text, .. } => all.push_str(text.raw()),
                    other => panic!("{other:?}"),
                },
                Piece::Ahead => return all + "…ahead",
                Piece::None => return all,
            }
        }
    }

    #[test]
    fn each_piece_comes_once_and_a_line_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.jsonl");
        let mut tail = PartialTail::new(path.clone());
        assert_eq!(words(&mut tail, 3), "");
        let (one, two) = (line(3, 0, "one "), line(3, 4, "two "));
        let (begin, rest) = two.split_at(20);
        write(&path, &[one.clone(), begin.into()]);
        assert_eq!(words(&mut tail, 3), "one ");
        write(&path, &[one, begin.into(), rest.into()]);
        assert_eq!(words(&mut tail, 3), "two ");
        assert_eq!(words(&mut tail, 3), "");
    }

    #[test]
    fn a_file_that_began_anew_is_read_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.jsonl");
        let mut tail = PartialTail::new(path.clone());
        write(&path, &[line(3, 0, "first")]);
        assert_eq!(words(&mut tail, 3), "first");
        write(&path, &[line(5, 0, "a")]);
        assert_eq!(words(&mut tail, 5), "a");
        for length in [1, 50, 200] {
            let seq = 10 + length as u64;
            let new: String = "x".repeat(length);
            write(&path, &[line(seq, 0, &new), line(seq, length as u64, "y"), line(seq, length as u64 + 1, "z")]);
            assert_eq!(words(&mut tail, seq), new + "yz");
        }
    }

    #[test]
    fn pieces_of_a_complete_text_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.jsonl");
        let mut tail = PartialTail::new(path.clone());
        write(&path, &[line(3, 0, "old")]);
        assert_eq!(words(&mut tail, 4), "");
        write(&path, &[line(6, 0, "new"), line(6, 3, "er")]);
        assert_eq!(words(&mut tail, 4), "…ahead");
        assert_eq!(words(&mut tail, 6), "newer");
    }
}
