//! The writes that the recording disk was told, and the part of them that a power cut leaves.
//!
//! All that was written before the last flush is there. The disk may have kept any part of the later writes in its cache: all of them,
//! some without others that came earlier, or one write in part.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::Dice;

enum Event {
    Write { offset: u64, bytes: Vec<u8> },
    Flush,
}

/// Writes and flushes in order, each with its end position in the log.
pub struct Record(Vec<(u64, Event)>);

/// How a power cut treats what was not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Everything up to the cut is on the disk.
    Prefix,
    /// Some of the writes since the last flush are on the disk.
    Subset,
    /// The same, and one of them is there in part.
    Tear,
}

/// One power cut.
pub struct Cut {
    pub kind: Kind,
    /// The position in the log where it happens.
    pub at: u64,
    /// For each event of the record, how many bytes of its write are on the disk: all, none, or the first ones.
    kept: Vec<usize>,
}

impl Record {
    /// Reads the log of the recording disk up to a position.
    pub fn read(log: &Path, end: u64) -> Self {
        let mut log = BufReader::new(std::fs::File::open(log).expect("the log"));
        let (mut events, mut position) = (Vec::new(), 0);
        loop {
            let mut header = String::new();
            position += log.read_line(&mut header).expect("a header") as u64;
            let event = match header.split_whitespace().collect::<Vec<_>>()[..] {
                ["W", offset, length] => {
                    let mut bytes = vec![0; length.parse().expect("a length")];
                    log.read_exact(&mut bytes).expect("the bytes");
                    position += bytes.len() as u64;
                    Event::Write { offset: offset.parse().expect("an offset"), bytes }
                }
                ["F"] => Event::Flush,
                _ => return Self(events),
            };
            if position > end {
                return Self(events);
            }
            events.push((position, event));
        }
    }

    /// A cut at a position, or at any if none is given. A tear comes at a long write instead.
    pub fn cut(&self, at: Option<u64>, kind: Kind, sector: usize, dice: &mut Dice) -> Cut {
        let long: Vec<usize> = (0..self.0.len()).filter(|n| self.length(*n) > sector).collect();
        let count = match at {
            _ if kind == Kind::Tear => dice.one(&long) + 1,
            Some(at) => self.0.iter().take_while(|(end, _)| *end <= at).count(),
            None => dice.roll(self.0.len() + 1),
        };
        let flushed = self.0[..count].iter().rposition(|(_, event)| matches!(event, Event::Flush)).unwrap_or(0);
        let mut kept: Vec<usize> = (0..count).map(|n| self.length(n)).collect();
        if kind != Kind::Prefix {
            // All, many, few or none of them.
            let chance = dice.roll(4);
            kept[flushed..].iter_mut().filter(|_| dice.roll(3) < chance).for_each(|bytes| *bytes = 0);
        }
        if kind == Kind::Tear {
            kept[count - 1] = sector * (1 + dice.roll(self.length(count - 1) / sector - 1));
        }
        Cut { kind, at: self.0[..count].last().map_or(0, |(end, _)| *end), kept }
    }

    /// How many bytes an event writes.
    fn length(&self, n: usize) -> usize {
        if let Event::Write { bytes, .. } = &self.0[n].1 { bytes.len() } else { 0 }
    }

    /// Writes to an image what is on the disk after a cut.
    pub fn apply(&self, cut: &Cut, image: &Path) {
        let image = std::fs::File::options().write(true).open(image).expect("an image");
        for ((_, event), kept) in self.0.iter().zip(&cut.kept) {
            if let Event::Write { offset, bytes } = event {
                image.write_all_at(&bytes[..*kept], *offset).expect("a write");
            }
        }
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {} ({} events)", self.kind, self.at, self.kept.len())
    }
}
