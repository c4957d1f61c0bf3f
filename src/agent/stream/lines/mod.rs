//! Reads the JSON lines of an untrusted stream in bounded memory.
//!
//! Memory stays within [`Limits`], however long a line is. JSON strings over `string` bytes are shortened while they are read: the
//! line stays valid JSON, and [`Line::cuts`] says how much is missing. Of a line that is over `line` bytes even then, only the head
//! is returned. Invalid UTF-8 becomes U+FFFD. Lines of white space are skipped.

use std::io::{self, BufRead, Read};
use std::ops::Range;

pub use crate::agent::stream::shorten::Cut;
use crate::agent::stream::shorten::Shortener;

/// What a line may cost in memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Kept of each JSON string.
    pub string: usize,
    /// Longest line, after its strings were shortened. Of a longer line only the head is kept.
    pub line: usize,
    /// Kept of a line that is over `line`.
    pub head: usize,
}

impl Default for Limits {
    /// 64 KiB a string, 4 MiB a line, 4 KiB of a line over that.
    fn default() -> Self {
        Self { string: 64 << 10, line: 4 << 20, head: 4 << 10 }
    }
}

/// Room in the buffer beside one line of `Limits::string` bytes.
const READ_AHEAD: usize = 64 << 10;
/// First size of the buffer. It doubles each time a read fills it.
const FIRST_BUFFER: usize = 8 << 10;

/// One line, without its line feed.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    text: &'a str,
    size: u64,
    torn: bool,
    over_limit: bool,
    cuts: &'a [Cut],
}

impl<'a> Line<'a> {
    /// A line that was not shortened.
    pub fn whole(text: &'a str) -> Self {
        Self { text, size: text.len() as u64, torn: false, over_limit: false, cuts: &[] }
    }

    /// The text, without what was cut.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The line's true size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the stream ended in the middle of the line.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// Whether the line is over [`Limits::line`]: then [`text`](Self::text) is only its head, and not JSON.
    pub fn over_limit(&self) -> bool {
        self.over_limit
    }

    /// The strings that were shortened.
    pub fn cuts(&self) -> &'a [Cut] {
        self.cuts
    }

    /// Bytes that were cut from the strings in `part`, a slice of [`text`](Self::text); 0 for any other slice.
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

    /// The same line with another text of the same length (a repaired copy).
    pub(crate) fn with_text(self, text: &'a str) -> Self {
        Self { text, ..self }
    }
}

/// Reads lines from `R`. Not an `Iterator`: a [`Line`] borrows the buffer.
#[derive(Debug)]
pub struct BoundedLines<R> {
    input: R,
    limits: Limits,
    buffer: Vec<u8>,
    /// The unread bytes in `buffer`.
    unread: Range<usize>,
    /// How many of the unread bytes were searched and hold no line feed.
    searched: usize,
    eof: bool,
    /// The last line that was too long for the buffer, and the state of reading it.
    long: Long,
    reading_long: bool,
    /// Text of the last line that was not UTF-8.
    lossy: String,
}

#[derive(Debug)]
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

/// Where a line was found.
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
            long: Long::new(limits.string),
            reading_long: false,
            lossy: String::new(),
        }
    }

    /// The next line; blocks until there is one. `None` at the end of the stream.
    ///
    /// # Errors
    /// The error of the input, except `Interrupted`, which is retried. No byte is lost: the next call continues.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let Some((found, torn)) = self.find()? else {
            return Ok(None);
        };
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

    /// Finds the next line and whether it is torn.
    fn find(&mut self) -> io::Result<Option<(Found, bool)>> {
        // Gives the memory of a long line back.
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
                if !self.buffer[line.clone()].trim_ascii().is_empty() {
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
mod tests;
