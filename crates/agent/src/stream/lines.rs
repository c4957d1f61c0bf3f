//! Reads the JSON lines of an untrusted stream in bounded memory.
//!
//! Memory stays within [`Limits`], however long a line is. JSON strings over `string` bytes are shortened while they are read. The line
//! stays valid JSON, and [`Line::cuts`] says how much is missing. If a line is over `line` bytes even then, only its head is returned.
//! Invalid UTF-8 becomes U+FFFD. Lines of white space are skipped, unless they are wanted.

use std::io::{self, BufRead, Read};
use std::ops::Range;

pub use crate::stream::shorten::Cut;
use crate::stream::shorten::Shortener;

/// The limits on the memory for a line, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The bytes that are kept of each JSON string.
    pub string: usize,
    /// The longest line, after its strings were shortened. If a line is longer, only its head is kept.
    pub line: usize,
    /// The bytes that are kept of a line that is over `line`.
    pub head: usize,
}

impl Default for Limits {
    /// 64 KiB a string, 4 MiB a line, 4 KiB of a line that is longer.
    fn default() -> Self {
        Self { string: 64 << 10, line: 4 << 20, head: 4 << 10 }
    }
}

/// Room in the buffer besides one line of `Limits::string` bytes.
const READ_AHEAD: usize = 64 << 10;
/// The first size of the buffer. It doubles each time a read fills it.
const FIRST_BUFFER: usize = 8 << 10;

/// One line, without its line feed.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The text, without the parts that were cut.
    pub text: &'a str,
    /// The line's true size in bytes.
    pub size: u64,
    /// True if the stream ended in the middle of the line.
    pub torn: bool,
    /// True if the line is over [`Limits::line`]. [`text`](Self::text) is then only its head, and not JSON.
    pub over_limit: bool,
    /// The strings that were shortened.
    pub cuts: &'a [Cut],
}

impl<'a> Line<'a> {
    /// A line that was not shortened.
    pub fn whole(text: &'a str) -> Self {
        Self { text, size: text.len() as u64, torn: false, over_limit: false, cuts: &[] }
    }

    /// The number of bytes that were cut from the strings in `part`, a slice of [`text`](Self::text). 0 for any other slice.
    pub fn dropped_in(&self, part: &str) -> u64 {
        if self.cuts.is_empty() {
            return 0;
        }
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        if start > self.text.len() {
            return 0;
        }
        self.cuts.iter().filter(|cut| cut.at >= start && cut.at - start < part.len()).map(|cut| cut.dropped).sum()
    }

    /// The same line with another text of the same length, which is a repaired copy.
    pub fn with_text(self, text: &'a str) -> Self {
        Self { text, ..self }
    }
}

/// Reads lines from `R`. Not an `Iterator`: a [`Line`] borrows the buffer.
pub struct BoundedLines<R> {
    input: R,
    limits: Limits,
    buffer: Vec<u8>,
    /// The unread bytes in `buffer`.
    unread: Range<usize>,
    /// The number of unread bytes that were searched and have no line feed.
    searched: usize,
    eof: bool,
    keeps_blank: bool,
    /// The last line that was too long for the buffer, and the state of reading it.
    long: Long,
    reading_long: bool,
    /// Text of the last line that was not UTF-8.
    lossy: String,
}

struct Long {
    shortener: Shortener,
    text: Vec<u8>,
    cuts: Vec<Cut>,
    size: u64,
    over_limit: bool,
}

impl Long {
    fn new(limit: usize) -> Self {
        Self { shortener: Shortener::new(limit), text: Vec::new(), cuts: Vec::new(), size: 0, over_limit: false }
    }

    fn feed(&mut self, bytes: &[u8], limits: &Limits) {
        self.size += bytes.len() as u64;
        if self.over_limit {
            return;
        }
        self.shortener.feed(bytes, &mut self.text, &mut self.cuts);
        if self.text.len() > limits.line {
            self.over_limit = true;
            self.text.truncate(limits.head);
            self.text.shrink_to_fit();
            self.cuts.clear();
        }
    }
}

/// The place of a line that was found.
enum Found {
    InBuffer(Range<usize>),
    Long,
}

impl<R: Read> BoundedLines<R> {
    /// Reads with the default limits.
    pub fn new(input: R) -> Self {
        Self::with_limits(input, Limits::default())
    }

    /// Reads with these limits.
    pub fn with_limits(input: R, limits: Limits) -> Self {
        Self {
            input,
            limits,
            buffer: vec![0; FIRST_BUFFER.min(limits.string + READ_AHEAD)],
            unread: 0..0,
            searched: 0,
            eof: false,
            keeps_blank: false,
            long: Long::new(limits.string),
            reading_long: false,
            lossy: String::new(),
        }
    }

    /// Returns lines of white space too.
    pub fn with_blank_lines(self) -> Self {
        Self { keeps_blank: true, ..self }
    }

    /// The next line. Blocks until there is one. `None` at the end of the stream.
    ///
    /// # Errors
    /// The error of the input, except `Interrupted`, which is retried. No byte is lost: the next call continues.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let Some((found, torn)) = self.find()? else { return Ok(None) };
        let Self { buffer, long, lossy, .. } = self;
        let (bytes, size, over_limit) = match found {
            Found::InBuffer(range) => {
                long.cuts.clear();
                (&buffer[range.clone()], range.len() as u64, false)
            }
            Found::Long => (&long.text[..], long.size, long.over_limit),
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                replace_invalid(bytes, &mut long.cuts, lossy);
                lossy
            }
        };
        Ok(Some(Line { text, size, torn, over_limit, cuts: &long.cuts }))
    }

    /// Finds the next line, and returns if it is torn.
    fn find(&mut self) -> io::Result<Option<(Found, bool)>> {
        // Frees the memory of a long line.
        if !self.reading_long && self.long.text.capacity() > 4 * self.limits.string {
            self.long.text = Vec::new();
        }
        self.lossy.clear();
        self.lossy.shrink_to(self.limits.string);
        loop {
            let from = self.unread.start + self.searched;
            let line_feed = find_line_feed(&self.buffer[from..self.unread.end]).map(|at| from + at);
            let end = line_feed.unwrap_or(self.unread.end);
            let line = self.unread.start..end;
            if !self.reading_long && line.len() > self.limits.string {
                self.long = Long::new(self.limits.string);
                self.reading_long = true;
            }
            if self.reading_long {
                self.long.feed(&self.buffer[line.clone()], &self.limits);
                self.unread.start = end;
            }
            self.searched = self.unread.end - self.unread.start;
            let at_end = self.eof && line_feed.is_none();
            if line_feed.is_some() || at_end {
                self.unread.start = line_feed.map_or(end, |at| at + 1);
                self.searched = 0;
                if std::mem::take(&mut self.reading_long) {
                    return Ok(Some((Found::Long, at_end)));
                }
                let is_blank = self.buffer[line.clone()].trim_ascii().is_empty();
                let is_line = if self.keeps_blank { line_feed.is_some() || !line.is_empty() } else { !is_blank };
                if is_line {
                    return Ok(Some((Found::InBuffer(line), at_end)));
                }
                if at_end {
                    return Ok(None);
                }
                continue;
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.buffer.len() - self.unread.end < self.buffer.len() / 4 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        loop {
            match self.input.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => self.eof = true,
                Ok(count) => {
                    self.unread.end += count;
                    if self.unread.end == self.buffer.len() {
                        let room = (2 * self.buffer.len()).min(self.limits.string + READ_AHEAD);
                        self.buffer.resize(room, 0);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

/// The offset of the first line feed. (`skip_until` searches with the standard library's fast `memchr`.)
fn find_line_feed(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let skipped = rest.skip_until(b'\n').unwrap_or(0);
    (skipped > 0 && bytes[skipped - 1] == b'\n').then(|| skipped - 1)
}

/// Writes `bytes` to `text` with U+FFFD for invalid UTF-8, and adjusts the offsets of the cuts.
fn replace_invalid(bytes: &[u8], cuts: &mut [Cut], text: &mut String) {
    text.clear();
    let mut from = 0;
    for cut in cuts {
        text.push_str(&String::from_utf8_lossy(&bytes[from..cut.at]));
        from = cut.at;
        cut.at = text.len();
    }
    text.push_str(&String::from_utf8_lossy(&bytes[from..]));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out its bytes in pieces of `piece`.
    struct Drip<'a>(&'a [u8], usize);
    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn read_all<R: Read>(mut lines: BoundedLines<R>) -> Vec<(String, u64, bool, bool, u64)> {
        let mut all = Vec::new();
        while let Some(l) = lines.next_line().unwrap() {
            let dropped = l.dropped_in(l.text);
            all.push((l.text.to_owned(), l.size, l.torn, l.over_limit, dropped));
        }
        all
    }

    const SMALL: Limits = Limits { string: 16, line: 200, head: 10 };

    #[test]
    fn lines_come_one_by_one_and_blank_ones_are_skipped() {
        for piece in [1, 2, 3, 7, 100] {
            let got = read_all(BoundedLines::with_limits(Drip(b"{\"a\":1}\n\n \r\n{\"b\":2}\r\n", piece), SMALL));
            let texts: Vec<_> = got.iter().map(|l| l.0.as_str()).collect();
            assert_eq!(texts, ["{\"a\":1}", "{\"b\":2}\r"]);
            assert!(got.iter().all(|l| !l.2 && !l.3));
        }
    }

    #[test]
    fn blank_lines_come_where_they_are_wanted() {
        for piece in [1, 3, 100] {
            let got = read_all(BoundedLines::with_limits(Drip(b"a\n\n \nb\n\n", piece), SMALL).with_blank_lines());
            assert_eq!(got.iter().map(|l| l.0.as_str()).collect::<Vec<_>>(), ["a", "", " ", "b", ""]);
        }
    }

    #[test]
    fn a_half_line_at_the_end_is_delivered_as_torn() {
        let got = read_all(BoundedLines::new(&b"{\"a\":1}\n{\"b\":"[..]));
        assert!(!got[0].2);
        assert_eq!((got[1].0.as_str(), got[1].2), ("{\"b\":", true));
    }

    #[test]
    fn a_long_half_line_at_the_end_is_torn_and_has_its_size() {
        let got = read_all(BoundedLines::with_limits(Drip(&[b'x'; 60], 7), SMALL));
        assert_eq!(got, [("x".repeat(60), 60, true, false, 0)]);
    }

    #[test]
    fn a_long_string_is_shortened_and_the_next_line_is_unharmed() {
        let line = format!("{{\"a\":\"{}\"}}\n{{\"b\":1}}\n", "y".repeat(150));
        for piece in [1, 5, 64, 1000] {
            let got = read_all(BoundedLines::with_limits(Drip(line.as_bytes(), piece), SMALL));
            assert_eq!(got[0], (format!("{{\"a\":\"{}\"}}", "y".repeat(16)), 158, false, false, 134));
            assert_eq!(got[1], ("{\"b\":1}".into(), 7, false, false, 0));
        }
    }

    #[test]
    fn a_too_long_line_is_delivered_as_its_head_with_its_true_size() {
        let line = format!("[{}]\n{{\"b\":1}}\n", "1,".repeat(500));
        for piece in [1, 64, 5000] {
            let got = read_all(BoundedLines::with_limits(Drip(line.as_bytes(), piece), SMALL));
            assert_eq!(got[0], ("[1,1,1,1,1".into(), 1002, false, true, 0));
            assert_eq!(got[1].0, "{\"b\":1}");
        }
    }

    #[test]
    fn two_hundred_megabytes_on_one_line_take_bounded_memory() {
        let (head, tail) = (&b"{\"type\":\"user\",\"text\":\""[..], &b"\",\"after\":1}\n"[..]);
        let size = 200 << 20;
        let body = io::repeat(b'z').take(size);
        let mut lines = BoundedLines::new(head.chain(body).chain(tail));
        let line = lines.next_line().unwrap().unwrap();
        assert_eq!(line.size, size + head.len() as u64 + tail.len() as u64 - 1);
        let value: serde_json::Value = serde_json::from_str(line.text).unwrap();
        assert_eq!(value["after"], 1);
        let kept = value["text"].as_str().unwrap().len() as u64;
        assert_eq!((kept, line.dropped_in(line.text)), (65536, size - 65536));
        assert!(lines.long.text.capacity() + lines.buffer.capacity() < 512 << 10);
        assert!(lines.next_line().unwrap().is_none());
    }

    #[test]
    fn invalid_utf8_is_replaced_and_nul_bytes_pass() {
        let got = read_all(BoundedLines::new(&b"{\"a\":\"\xff\xfe x\0\"}\nok\n"[..]));
        assert_eq!(got[0].0, "{\"a\":\"\u{fffd}\u{fffd} x\0\"}");
        assert_eq!(got[1].0, "ok");
        let mut long = b"{\"a\":\"\xff".to_vec();
        long.extend([b'q'; 40]);
        long.extend(b"\",\"b\":\"\xfe\"}\n");
        let mut lines = BoundedLines::with_limits(&long[..], SMALL);
        let line = lines.next_line().unwrap().unwrap();
        let value: serde_json::Value = serde_json::from_str(line.text).unwrap();
        assert_eq!(value["b"], "\u{fffd}");
        assert_eq!(&line.text[line.cuts[0].at..line.cuts[0].at + 1], "\"");
    }

    #[test]
    fn what_was_dropped_is_told_for_each_part_of_the_line() {
        let text = format!("{{\"a\":\"{}\",\"b\":\"{}\"}}\n", "y".repeat(50), "z".repeat(30));
        let mut lines = BoundedLines::with_limits(text.as_bytes(), SMALL);
        let line = lines.next_line().unwrap().unwrap();
        let b = line.text.find("\"b\"").unwrap();
        assert_eq!(line.dropped_in(&line.text[..b]), 34);
        assert_eq!(line.dropped_in(&line.text[b..]), 14);
        assert_eq!(line.dropped_in("elsewhere"), 0);
    }

    #[test]
    fn an_interrupted_read_is_retried_and_an_error_loses_nothing() {
        struct Moody(Vec<io::Result<&'static [u8]>>);
        impl Read for Moody {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                match self.0.pop() {
                    None => Ok(0),
                    Some(Err(error)) => Err(error),
                    Some(Ok(bytes)) => {
                        out[..bytes.len()].copy_from_slice(bytes);
                        Ok(bytes.len())
                    }
                }
            }
        }
        let later = || io::Error::from(io::ErrorKind::WouldBlock);
        let retry = || io::Error::from(io::ErrorKind::Interrupted);
        let long: &[u8] = b"{\"a\":\"0123456789012345";
        let steps = vec![Ok(&b"6789\"}\n"[..]), Err(later()), Ok(long), Err(retry())];
        let mut lines = BoundedLines::with_limits(Moody(steps), SMALL);
        assert_eq!(lines.next_line().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let line = lines.next_line().unwrap().unwrap();
        assert_eq!(line.text, "{\"a\":\"0123456789012345\"}");
        assert_eq!(line.size, 28);
    }
}
