//! The lines of a file, the last one first. The work grows with the lines that are taken, not with the file.

use std::io::{self, Read, Seek, SeekFrom};

/// How many bytes are read at once.
const BLOCK: u64 = 64 << 10;

/// Returns the lines of a file without their line feeds, the last one first. If the file does not end with a line feed, the first line
/// that is returned is incomplete. What is appended during the reading is not returned.
#[derive(Debug)]
pub struct LinesFromEnd<F> {
    file: F,
    /// Where `unread` begins in the file.
    start: u64,
    /// Bytes that were read and not returned yet.
    unread: Vec<u8>,
    /// True before the first line: the file may end with a line feed.
    is_at_end: bool,
    /// True after an error.
    is_over: bool,
    /// The longest line that is returned whole, in bytes.
    longest: usize,
    /// True between two parts of a longer line.
    is_in_long: bool,
}

/// A line, or a part of a line that is longer than the limit. The last part of a line comes first.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// A whole line.
    Line(Vec<u8>),
    /// A part with more of its line in front of it.
    Inner(Vec<u8>),
    /// The part that the line begins with.
    Begin(Vec<u8>),
}

impl<F: Read + Seek> LinesFromEnd<F> {
    /// Begins at the end of the file.
    ///
    /// # Errors
    /// The error of the file.
    pub fn new(mut file: F) -> io::Result<Self> {
        let start = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, start, unread: Vec::new(), is_at_end: true, is_over: false, longest: usize::MAX, is_in_long: false })
    }

    /// The same for lines of at most `longest` bytes. A longer line is an error, or comes in parts. It is never kept as a whole.
    pub fn bounded(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    fn read_block(&mut self) -> io::Result<()> {
        let length = self.start.min(BLOCK);
        let start = self.start - length;
        self.file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(length).read_to_end(&mut bytes)?;
        if read as u64 != length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter"));
        }
        bytes.append(&mut self.unread);
        (self.unread, self.start) = (bytes, start);
        Ok(())
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(match self.next_part()? {
            Some(Part::Line(line)) => Some(line),
            None => None,
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line is longer than {} bytes", self.longest))),
        })
    }

    /// The next line, or the next part of one that is too long.
    ///
    /// # Errors
    /// The error of the file.
    pub fn next_part(&mut self) -> io::Result<Option<Part>> {
        if self.is_over {
            return Ok(None);
        }
        let mut searched = 0;
        loop {
            if self.is_at_end && !self.unread.is_empty() {
                self.unread.pop_if(|last| *last == b'\n');
                self.is_at_end = false;
            }
            // The end of `unread` was searched before the last block was read.
            if let Some(feed) = self.unread[..self.unread.len() - searched].iter().rposition(|byte| *byte == b'\n') {
                let line = self.unread.split_off(feed + 1);
                self.unread.pop();
                return Ok(Some(self.ended(line)));
            }
            if self.start == 0 {
                self.is_over = true;
                return Ok((!self.is_at_end).then(|| std::mem::take(&mut self.unread)).map(|line| self.ended(line)));
            }
            searched = self.unread.len();
            if searched > self.longest {
                self.is_in_long = true;
                return Ok(Some(Part::Inner(std::mem::take(&mut self.unread))));
            }
            self.read_block()?;
        }
    }

    fn ended(&mut self, line: Vec<u8>) -> Part {
        if std::mem::take(&mut self.is_in_long) || line.len() > self.longest { Part::Begin(line) } else { Part::Line(line) }
    }
}

impl<F: Read + Seek> Iterator for LinesFromEnd<F> {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let line = self.next_line();
        self.is_over |= line.is_err();
        line.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn backwards(text: &str) -> Vec<String> {
        LinesFromEnd::new(Cursor::new(text)).unwrap().map(|line| String::from_utf8(line.unwrap()).unwrap()).collect()
    }

    #[test]
    fn a_line_over_the_limit_is_an_error_and_not_kept() {
        let text = format!("{}\nshort\n", "x".repeat(1 << 20));
        let mut lines = LinesFromEnd::new(Cursor::new(text)).unwrap().bounded(100_000);
        assert_eq!(lines.next().unwrap().unwrap(), b"short");
        assert!(lines.next().unwrap().is_err() && lines.next().is_none());
    }

    #[test]
    fn a_line_over_the_limit_comes_in_parts() {
        let long = "x".repeat(1 << 20);
        let mut lines = LinesFromEnd::new(Cursor::new(format!("first\n{long}\nlast\n"))).unwrap().bounded(100_000);
        assert_eq!(lines.next_part().unwrap(), Some(Part::Line(b"last".into())));
        let mut length = 0;
        loop {
            match lines.next_part().unwrap().unwrap() {
                Part::Inner(part) => length += part.len(),
                Part::Begin(part) => break assert_eq!(length + part.len(), long.len()),
                Part::Line(_) => panic!("a part"),
            }
            assert!(lines.unread.capacity() < 400_000);
        }
        assert_eq!(lines.next_part().unwrap(), Some(Part::Line(b"first".into())));
        assert_eq!(lines.next_part().unwrap(), None);
    }

    #[test]
    fn the_lines_come_backwards_whatever_their_length() {
        for (text, lines) in [("", vec![]), ("\n", vec![""]), ("a", vec!["a"]), ("a\n", vec!["a"]), ("a\n\nb", vec!["b", "", "a"])] {
            assert_eq!(backwards(text), lines, "{text:?}");
        }
        let lines: Vec<String> = (0..300).map(|n| n.to_string().repeat(n * 7 % 1000)).chain(["x".repeat(300_000)]).collect();
        for text in [lines.join("\n"), lines.join("\n") + "\n"] {
            assert_eq!(backwards(&text), lines.iter().rev().cloned().collect::<Vec<_>>());
        }
    }
}
