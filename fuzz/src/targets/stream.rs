//! The standard output of an agent, and its transcript.

use std::io::Read;

use askbox::agent::events::{Event, EventKind, EventWriter, LINE_LIMIT};
use askbox::agent::stream::lines::{BoundedLines, Limits};
use askbox::agent::stream::{Interpreter, StreamItem};
use askbox::agent::transcript;
use askbox::time;

use super::{promises, records};

/// A reader that returns its bytes in pieces of changing size.
pub(super) struct Pieces<'a>(pub(super) &'a [u8], pub(super) usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 17 + 1;
        let size = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(size);
        buffer[..size].copy_from_slice(now);
        self.0 = later;
        Ok(size)
    }
}

/// Limits so small that short inputs reach them too.
pub(super) const TIGHT: Limits = Limits { string: 24, line: 512, head: 32 };

/// A stream gives the same items however it is cut into pieces. The items are bounded and can be shown.
pub fn stream(bytes: &[u8]) {
    for limits in [Limits::default(), TIGHT] {
        let whole = items(BoundedLines::with_limits(bytes, limits));
        assert_eq!(whole, items(BoundedLines::with_limits(Pieces(bytes, bytes.len()), limits)), "in other pieces");
        lines_are_bounded(bytes, limits);
    }
    let items = items(BoundedLines::new(bytes));
    assert!(results(&items) <= bytes.split(|b| *b == b'\n').count(), "more results than lines");
    recorded(&items);
}

fn items<R: Read>(mut lines: BoundedLines<R>) -> Vec<StreamItem> {
    let mut interpreter = Interpreter::resuming("00000000-0000-4000-8000-000000000000");
    let mut items = Vec::new();
    while let Some(line) = lines.next_line().expect("reading from memory") {
        items.extend(interpreter.feed(&line));
    }
    assert!(interpreter.files_touched().len() <= 1000);
    items.push(StreamItem::Event(interpreter.interrupted("fuzz")));
    items
}

fn results(items: &[StreamItem]) -> usize {
    items.iter().filter(|item| matches!(item, StreamItem::TurnEnded(_))).count()
}

/// Every line keeps within the limits and names its true size. A line of JSON is still JSON after it was shortened.
fn lines_are_bounded(bytes: &[u8], limits: Limits) {
    let mut lines = BoundedLines::with_limits(bytes, limits);
    let mut originals = bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty());
    while let Some(line) = lines.next_line().expect("reading from memory") {
        let original = originals.next().expect("a line for each line");
        assert_eq!(line.size, original.len() as u64);
        // Each invalid byte becomes a character of three bytes.
        assert!(line.text.len() <= 3 * (limits.line + limits.string), "{} bytes", line.text.len());
        let Ok(text) = std::str::from_utf8(original) else { continue };
        if line.over_limit {
            continue;
        }
        if serde_json::from_str::<serde_json::Value>(text).is_err() {
            continue;
        }
        assert!(serde_json::from_str::<serde_json::Value>(line.text).is_ok(), "{text:?} became {:?}", line.text);
        let dropped: u64 = line.cuts.iter().map(|cut| cut.dropped).sum();
        assert!(dropped == 0 || text.len() > limits.string, "{text:?} was cut");
        if dropped == 0 && line.cuts.is_empty() {
            assert_eq!(line.text, text);
        }
    }
    assert_eq!(originals.next(), None, "a line is missing");
}

/// Every event is one line within its limit, reads back, and can be shown.
pub(super) fn recorded(items: &[StreamItem]) {
    let at = time::parse_rfc3339("2026-11-22T10:15:00Z").expect("a time");
    for item in items {
        let StreamItem::Event(kind) = item else { continue };
        let mut writer = EventWriter::new(Vec::new());
        writer.append(at, kind).expect("writing to memory");
        let line = writer.get_ref();
        assert!(line.len() <= LINE_LIMIT && line.iter().filter(|b| **b == b'\n').count() == 1, "{} bytes", line.len());
        let event: Event = serde_json::from_slice(line).unwrap_or_else(|e| panic!("{e}: {kind:?}"));
        if !String::from_utf8_lossy(line).contains("\"cut_from\":") && !matches!(kind, EventKind::Result { .. }) {
            assert_eq!(event.kind, *kind);
        }
        records::event_is_shown(&event);
        promises::is_shown_safely(&askbox::text::escape_json(&String::from_utf8_lossy(line)));
    }
}

/// A transcript says the same in any pieces.
pub fn transcript(bytes: &[u8]) {
    for message in ["m", "u1", "00000000-0000-4000-8000-000000000001"] {
        assert_eq!(transcript::is_unanswered(bytes, message), transcript::is_unanswered(Pieces(bytes, 0), message));
    }
}
