//! Reads `partial.jsonl` while it is written: the text that the model generates just now. The file begins anew with each text.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::agent::events::{Event, EventKind};
use crate::disk;
use crate::error::{IoContext, Result};

/// What [`PartialTail::next`] returns.
#[derive(Debug)]
pub(super) enum Piece {
    /// A piece of the text behind the last event, as its line and parsed.
    Next(String, Box<Event>),
    /// A piece that lies behind events which the caller has not read yet. The same piece comes again.
    Ahead,
    /// There is no piece now.
    None,
}

/// Every piece comes once, in order, from the beginning of a text. Pieces of a text whose whole event was read are left out.
#[derive(Debug)]
pub(super) struct PartialTail {
    path: PathBuf,
    file: Option<File>,
    /// The bytes of the file that were read.
    read: u64,
    /// What was read and not returned yet; the last line may be incomplete.
    unread: Vec<u8>,
    /// The text of the last piece, named by the event before it, and where that piece ended.
    last: (u64, u64),
}

impl PartialTail {
    pub(super) fn of(path: PathBuf) -> Self {
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
            // A file that began anew, and is longer by now than it was, is read from the middle of a line or of a text.
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
                // It was read before, belongs to a text that is complete, or is no piece.
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
            match disk::open_to_read(&self.path) {
                Err(e) if e.is_missing_file() => return Ok(()),
                other => self.file = Some(other?),
            }
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let size = file.metadata().io("read", &self.path)?.len();
        if size < self.read {
            self.read = 0;
            self.unread.clear();
        }
        file.seek(SeekFrom::Start(self.read)).io("read", &self.path)?;
        // Only up to the size of before: the file may grow meanwhile.
        self.read += file.by_ref().take(size - self.read).read_to_end(&mut self.unread).io("read", &self.path)? as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
        let mut tail = PartialTail::of(path.clone());
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
    fn a_file_that_began_anew_is_read_from_its_beginning_however_long_it_is_by_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.jsonl");
        let mut tail = PartialTail::of(path.clone());
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
    fn pieces_of_a_complete_text_are_left_out_and_those_behind_unread_events_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partial.jsonl");
        let mut tail = PartialTail::of(path.clone());
        write(&path, &[line(3, 0, "old")]);
        assert_eq!(words(&mut tail, 4), "");
        write(&path, &[line(6, 0, "new"), line(6, 3, "er")]);
        assert_eq!(words(&mut tail, 4), "…ahead");
        assert_eq!(words(&mut tail, 6), "newer");
    }
}
