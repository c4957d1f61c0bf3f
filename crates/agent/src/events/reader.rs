//! Reads the events of an attempt in bounded memory, whatever the agent has made of the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use askbox_mailbox::{IoContext, Result, disk, document};

use crate::events::{Event, LINE_LIMIT};

/// The largest file of events that is read, in bytes. askbox writes less: see `ROOM` of the event log.
pub const FILE_LIMIT: u64 = 80 << 20;

/// Opens the events of an attempt.
///
/// # Errors
/// [`Error::Invalid`](askbox_mailbox::Error::Invalid) if the file is larger than [`FILE_LIMIT`], or is not a regular file of this user.
/// [`Error::Io`](askbox_mailbox::Error::Io) if the system refuses.
pub fn open(path: &Path) -> Result<File> {
    let file = disk::open_to_read(path)?;
    let length = file.metadata().io("read", path)?.len();
    if length > FILE_LIMIT { Err(disk::too_long(path, length, FILE_LIMIT)) } else { Ok(file) }
}

/// The events of an attempt, in order. Lines that are not events are skipped. An error of the file ends them.
///
/// # Errors
/// Those of [`open`].
pub fn read(path: &Path) -> Result<Events<BufReader<File>>> {
    Ok(Events::of(BufReader::new(open(path)?)))
}

/// The events in an input.
pub struct Events<R> {
    input: R,
    line: EventLine,
}

impl<R: BufRead> Events<R> {
    /// The events in this input.
    pub fn of(input: R) -> Self {
        Self { input, line: EventLine::default() }
    }
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            self.line.clear();
            let is_whole = self.line.read_on(&mut self.input).ok()?;
            match document::json(&self.line.text) {
                Some(event) => return Some(event),
                None if is_whole => {}
                None => return None,
            }
        }
    }
}

/// A line of events that is read piece by piece. A line over [`LINE_LIMIT`] is not an event: it is passed over, and none of it is kept.
#[derive(Debug, Default)]
pub struct EventLine {
    /// The line so far, without its line feed. Empty if it is too long.
    pub text: Vec<u8>,
    is_too_long: bool,
}

impl EventLine {
    /// Reads on to the end of the line, or of the input. Returns true if the line is complete.
    ///
    /// # Errors
    /// The error of the input. The next call reads on.
    pub fn read_on(&mut self, input: &mut impl BufRead) -> io::Result<bool> {
        loop {
            let unread = match input.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if unread.is_empty() {
                return Ok(false);
            }
            let end = unread.iter().position(|byte| *byte == b'\n');
            let piece = &unread[..end.unwrap_or(unread.len())];
            self.is_too_long |= self.text.len() + piece.len() > LINE_LIMIT;
            if self.is_too_long {
                self.text.clear();
            } else {
                self.text.extend_from_slice(piece);
            }
            let read = end.map_or(piece.len(), |end| end + 1);
            input.consume(read);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Begins the next line.
    pub fn clear(&mut self) {
        self.text.clear();
        self.is_too_long = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EventKind;

    #[test]
    fn events_between_lines_of_any_length_are_read_in_little_memory() {
        let event = |seq: u64| format!("{{\"seq\":{seq},\"at\":\"2026-01-01T00:00:00Z\",\"type\":\"note\",\"text\":\"x\"}}\n");
        let zeros = "\0".repeat(3 * LINE_LIMIT);
        let text = [&event(1), "torn\n", &zeros, "\n", &event(2), &zeros, &event(3), event(4).trim_end()].concat();
        let mut events = Events::of(BufReader::with_capacity(1000, text.as_bytes()));
        let read: Vec<_> = events.by_ref().map(|event| event.seq).collect();
        // The third event shares its line with the zeros.
        assert_eq!(read, [1, 2, 4]);
        assert!(events.line.text.capacity() <= 2 * LINE_LIMIT);
        assert!(matches!(Events::of(event(1).as_bytes()).next().map(|event| event.kind), Some(EventKind::Note { .. })));
    }

    #[test]
    fn a_file_of_events_with_a_hole_of_gigabytes_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        File::create(&path).unwrap().set_len(3 << 30).unwrap();
        let error = read(&path).map(drop).unwrap_err().to_string();
        assert!(error.contains("events.jsonl") && error.contains("3221225472 bytes long"), "{error}");
    }
}
