//! Appends events to a file or a pipe, and finds the end of an existing file.

use std::io::{self, Read, Seek, SeekFrom, Write};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;
use serde_json::Value;

use crate::events::event::EventKind;
use askbox_mailbox::document;

/// The longest line that is written, in bytes, with its line feed.
pub const LINE_LIMIT: usize = 256 << 10;

/// Writes events, one `write` call each, so that a reader never sees half a line unless the disk is full.
pub struct EventWriter<W> {
    out: W,
    /// The `seq` of the last event, 0 before the first.
    pub last_seq: u64,
    /// The size of the output in bytes.
    pub size: u64,
    /// True if the last write failed: the output may end with half a line.
    torn: bool,
    line: Vec<u8>,
}

impl<W: Write> EventWriter<W> {
    /// Writes to `out`, which holds no event yet.
    pub fn new(out: W) -> Self {
        Self::after(out, Tail::default())
    }

    /// Continues after the end that [`read_tail`] found. `out` must append.
    pub fn after(out: W, tail: Tail) -> Self {
        Self { out, last_seq: tail.last_seq, size: tail.size, torn: tail.torn, line: Vec::new() }
    }

    /// Writes and flushes one event. Returns its `seq`.
    ///
    /// # Errors
    /// The error of the output. The `seq` is not used again, and the next event starts on a new line.
    pub fn append(&mut self, at: DateTime<Utc>, kind: &EventKind) -> io::Result<u64> {
        let seq = self.last_seq + 1;
        self.line.clear();
        if self.torn {
            self.line.push(b'\n');
        }
        write_line(&mut self.line, seq, at, kind)?;
        self.last_seq = seq;
        self.torn = true;
        self.size += self.line.len() as u64;
        self.out.write_all(&self.line)?;
        self.out.flush()?;
        self.torn = false;
        // Frees the memory of a huge event.
        self.line.shrink_to(LINE_LIMIT / 8);
        Ok(seq)
    }

    /// The output.
    pub fn get_ref(&self) -> &W {
        &self.out
    }
}

/// Appends one event to `line` as JSON of at most [`LINE_LIMIT`] bytes, with its line feed.
///
/// # Errors
/// If the event cannot be written as JSON.
pub fn write_line(line: &mut Vec<u8>, seq: u64, at: DateTime<Utc>, kind: &EventKind) -> io::Result<()> {
    let at = at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let start = line.len();
    write!(line, "{{\"seq\":{seq},\"at\":\"{at}\",")?;
    let body = line.len();
    serde_json::to_writer(&mut *line, kind)?;
    if line.len() - start >= LINE_LIMIT {
        let size = line.len() - body;
        let room = LINE_LIMIT - 128 - (body - start);
        line.truncate(body);
        serde_json::to_writer(&mut *line, &shrink(kind, size, room)?)?;
    }
    // Removes the event's own `{`: its fields follow `seq` and `at`.
    line.remove(body);
    line.push(b'\n');
    Ok(())
}

/// The event with its strings and lists cut until it fits into `room` bytes, and with its true size in the field `cut_from`.
fn shrink(kind: &EventKind, size: usize, room: usize) -> serde_json::Result<Value> {
    let mut value: Value = serde_json::from_str(&serde_json::to_string(kind)?)?;
    let (mut text, mut items) = (room / 2, 4096);
    while text > 32 {
        cut(&mut value, text, items);
        if let Value::Object(fields) = &mut value {
            fields.insert("cut_from".into(), size.into());
        }
        if serde_json::to_vec(&value)?.len() <= room {
            return Ok(value);
        }
        text /= 2;
        items = (items / 2).max(1);
    }
    let what = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    serde_json::from_str(&serde_json::to_string(&EventKind::Raw { what: what.into(), bytes: size as u64, head: "".into() })?)
}

fn cut(value: &mut Value, text: usize, items: usize) {
    match value {
        Value::String(string) => cut_text(string, text),
        Value::Array(list) => {
            list.drain(..list.len().saturating_sub(items));
            list.iter_mut().for_each(|item| cut(item, text, items));
        }
        Value::Object(fields) => fields.values_mut().for_each(|item| cut(item, text, items)),
        _ => {}
    }
}

fn cut_text(string: &mut String, limit: usize) {
    if string.len() > limit {
        string.truncate(string.floor_char_boundary(limit));
        string.push('…');
    }
}

/// The end of a file of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tail {
    /// The `seq` of the last whole event, 0 if there is none.
    pub last_seq: u64,
    /// True if the file ends without a line feed.
    pub torn: bool,
    /// The size of the file in bytes.
    pub size: u64,
}

/// The largest end of a file that is searched for its last event, in bytes: some lines.
const SEARCHED: u64 = 8 * LINE_LIMIT as u64;

/// Finds the last event of `file`, reading from the end until it finds a whole event. Leaves the file position undefined.
///
/// # Errors
/// The error of the file, or one that says that the end of the file holds no event.
pub fn read_tail<F: Read + Seek>(file: &mut F) -> io::Result<Tail> {
    #[derive(Deserialize)]
    struct Numbered {
        seq: u64,
    }
    let size = file.seek(SeekFrom::End(0))?;
    let mut window = 2048;
    loop {
        let start = size.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        // Another process may append at the same time, so read only up to the earlier size.
        file.by_ref().take(size - start).read_to_end(&mut bytes)?;
        let torn = bytes.last().is_some_and(|&last| last != b'\n');
        let mut lines = bytes.split(|&byte| byte == b'\n');
        if start > 0 {
            lines.next();
        }
        if torn {
            lines.next_back();
        }
        let last = lines.rev().find_map(document::json::<Numbered>);
        match last {
            Some(Numbered { seq }) => {
                return Ok(Tail { last_seq: seq, torn, size });
            }
            None if start == 0 => return Ok(Tail { last_seq: 0, torn, size }),
            None if window > SEARCHED => return Err(io::Error::new(io::ErrorKind::InvalidData, "its end holds no event")),
            None => window *= 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::events::{Event, ToolSummary};

    fn note(text: &str) -> EventKind {
        EventKind::Note { text: text.into() }
    }

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_700_000_000_000).unwrap()
    }

    fn events(bytes: &[u8]) -> Vec<Event> {
        let lines = bytes.split(|&b| b == b'\n').filter(|l| !l.is_empty());
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Counts calls; fails once it has taken `room` bytes.
    struct Disk {
        bytes: Vec<u8>,
        calls: usize,
        room: usize,
    }
    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            let count = bytes.len().min(self.room);
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= count;
            self.bytes.extend_from_slice(&bytes[..count]);
            Ok(count)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_event_is_one_write_and_one_line() {
        let mut writer = EventWriter::new(Disk { bytes: vec![], calls: 0, room: 1 << 20 });
        for text in ["a", "b\nc", "d"] {
            writer.append(now(), &note(text)).unwrap();
        }
        let disk = writer.get_ref();
        assert_eq!(disk.calls, 3);
        let seqs: Vec<_> = events(&disk.bytes).iter().map(|e| e.seq).collect();
        assert_eq!(seqs, [1, 2, 3]);
        assert!(disk.bytes.starts_with(br#"{"seq":1,"at":"2023-11-14T22:13:20.000Z","type":"note""#));
    }

    #[test]
    fn after_a_full_disk_the_next_event_stands_on_its_own_line() {
        let mut writer = EventWriter::new(Disk { bytes: vec![], calls: 0, room: 100 });
        writer.append(now(), &note("first")).unwrap();
        writer.append(now(), &note("second")).unwrap_err();
        writer.out.room = 1000;
        assert_eq!(writer.append(now(), &note("third")).unwrap(), 3);
        let seqs: Vec<_> = events(&writer.get_ref().bytes).iter().map(|e| e.seq).collect();
        assert_eq!(seqs, [1, 3]);
    }

    #[test]
    fn a_huge_event_is_cut_to_the_limit_and_states_its_size() {
        let call = |n: usize| ToolSummary {
            id: format!("t{n}").into(),
            name: "Bash".into(),
            input: "x".repeat(1000).into(),
            is_error: Some(false),
            text: "\u{1}".repeat(1000).into(),
            bytes: 1000,
        };
        let huge = [
            note(&"é".repeat(1 << 20)),
            note(&"\u{1}".repeat(1 << 20)),
            EventKind::Interrupted {
                how: "x".into(),
                text: "y".repeat(1 << 20).into(),
                report: None,
                tool_calls: (0..9000).map(call).collect(),
                tool_calls_omitted: 0,
                files_touched: (0..20000).map(|n| format!("/f{n}").into()).collect(),
                session_id: Some("s".into()),
            },
        ];
        for kind in huge {
            let mut writer = EventWriter::new(Vec::new());
            writer.append(now(), &kind).unwrap();
            let bytes = writer.get_ref();
            assert!(bytes.len() <= LINE_LIMIT, "{}", bytes.len());
            let [event] = &events(bytes)[..] else { panic!("not one event") };
            assert_eq!(std::mem::discriminant(&event.kind), std::mem::discriminant(&kind));
            let value: Value = serde_json::from_slice(bytes).unwrap();
            assert!(value["cut_from"].as_u64().unwrap() > LINE_LIMIT as u64);
        }
    }

    #[test]
    fn numbering_continues_behind_an_existing_file() {
        let mut writer = EventWriter::new(Vec::new());
        for n in 0..500 {
            writer.append(now(), &note(&"x".repeat(n * 17 % 9000))).unwrap();
        }
        let mut bytes = writer.out;
        let tail = read_tail(&mut Cursor::new(&bytes)).unwrap();
        assert_eq!(tail, Tail { last_seq: 500, torn: false, size: bytes.len() as u64 });
        bytes.extend(b"{\"seq\":501,\"at\":\"20");
        let tail = read_tail(&mut Cursor::new(&bytes)).unwrap();
        assert_eq!(tail, Tail { last_seq: 500, torn: true, size: bytes.len() as u64 });
        let mut writer = EventWriter::after(bytes, tail);
        assert_eq!(writer.append(now(), &note("on")).unwrap(), 501);
        assert_eq!(events(writer.get_ref()).last().unwrap().seq, 501);
        assert_eq!(events(writer.get_ref()).len(), 501);
    }

    #[test]
    fn an_empty_file_and_one_of_garbage_hold_no_event() {
        assert_eq!(read_tail(&mut Cursor::new(b"")).unwrap(), Tail::default());
        let garbage = vec![b'x'; 10_000];
        let tail = read_tail(&mut Cursor::new(&garbage)).unwrap();
        assert_eq!(tail, Tail { last_seq: 0, torn: true, size: 10_000 });
    }
}
