//! Changes an input a little, by a seed: the same seed gives the same input on every machine.

/// Pieces that parsers treat in a special way.
const PIECES: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\r\n",
    b"\0",
    b"\x1b[31m",
    b"\xc2\x9b31m",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00",
    b"\\u202e",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"-0",
    b"1e999",
    b"-1",
    b"18446744073709551616",
    b"9223372036854775807",
    b"0.1",
    b"..",
    b"/",
    b"~",
    b"=",
    b"'",
    b"---\n",
    b"- ",
    b"&a ",
    b"*a",
    b"# ",
    b"1h 30m",
    b"9999-12-31T23:59:59.999Z",
    b"+262142-12-31T23:59:59Z",
    b"-262143-01-01T00:00:00Z",
    b"2026-11-22T10:15:60Z",
    b"SGN_RESUME",
    b"SGN_PEND_STARTED (w)",
    b"SGN_PEND_ONGOING",
    b"\xf0\x9f\x8e\x89",
    b"e\xcc\x81",
    b"$(id)",
    b"`id`",
    b"%s",
    b"\t",
    b" ",
];

/// A small generator of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts the generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, and 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { usize::try_from(self.next() % bound as u64).unwrap_or(0) }
    }
}

/// The greatest length of an input that a mutation made longer.
const LONGEST: usize = 64 << 10;

/// Returns the input with one to eight changes. Some take pieces from `other`, another input of the same target.
pub fn mutated(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len() + 1);
        let most = 1 << random.below(7);
        let span = at..(at + 1 + random.below(most)).min(bytes.len()).max(at);
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.splice(span, [])),
            2 => drop(bytes.splice(at..at, bytes[span].to_vec())),
            3 | 4 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
            5 => drop(bytes.splice(span, PIECES[random.below(PIECES.len())].iter().copied())),
            6 => {
                let from = random.below(other.len() + 1);
                let to = (from + random.below(128)).min(other.len());
                drop(bytes.splice(span, other[from..to].iter().copied()));
            }
            _ if !span.is_empty() => {
                let times = 1 << random.below(10);
                let piece = bytes[span].to_vec();
                drop(bytes.splice(at..at, piece.repeat(times)));
            }
            _ => {}
        }
        bytes.truncate(LONGEST);
    }
    bytes
}
