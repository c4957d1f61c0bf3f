//! Shortens long JSON strings while a line is read, so that a line of any size takes limited memory.
//!
//! A state machine that reads byte by byte. It is used only for lines longer than the string limit. It copies its input without the
//! tails of the strings over the limit. The result stays valid JSON: no escape, surrogate pair or UTF-8 sequence is cut.

/// A place where a string was shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The offset of the shortened string's closing quote in the shortened line.
    pub at: usize,
    /// The number of bytes that were left out, counted as UTF-8 after unescaping.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    Inside,
    Escape,
    /// Inside `\uXXXX`: the number of digits so far, and their value.
    Hex(u8, u16),
}

/// The state machine. Feed it a line in pieces of any size.
pub(crate) struct Shortener {
    limit: usize,
    state: State,
    /// The bytes of the current string that were copied so far, as written. Escapes count in full.
    kept: usize,
    /// The continuation bytes that were copied beyond the limit to finish a UTF-8 sequence (at most 3).
    extra: u8,
    /// True if the last unit that was copied was a high surrogate: the low surrogate must be copied too.
    pair_open: bool,
    dropping: bool,
    dropped: u64,
}

impl Shortener {
    /// `limit` is the number of bytes that are kept of each string.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: State::Outside, kept: 0, extra: 0, pair_open: false, dropping: false, dropped: 0 }
    }

    /// Appends the shortened `input` to `out`, and the strings that were cut to `cuts`.
    pub(crate) fn feed(&mut self, mut input: &[u8], out: &mut Vec<u8>, cuts: &mut Vec<Cut>) {
        while let Some(&first) = input.first() {
            match self.state {
                State::Outside => {
                    let end = input.iter().position(|&b| b == b'"');
                    let run = end.map_or(input.len(), |at| at + 1);
                    out.extend_from_slice(&input[..run]);
                    input = &input[run..];
                    if end.is_some() {
                        *self = Self { state: State::Inside, ..Self::new(self.limit) };
                    }
                }
                State::Inside => {
                    let run = input.iter().position(|&b| b == b'"' || b == b'\\').unwrap_or(input.len());
                    if run > 0 {
                        self.plain(&input[..run], out);
                        input = &input[run..];
                    } else {
                        if first == b'"' {
                            self.close(out, cuts);
                        } else {
                            self.escape(out);
                        }
                        input = &input[1..];
                    }
                }
                State::Escape => {
                    self.unit_byte(first, out);
                    input = &input[1..];
                    if first == b'u' {
                        self.state = State::Hex(0, 0);
                    } else {
                        self.unit_done(1, false);
                    }
                }
                State::Hex(seen, value) => match (first as char).to_digit(16) {
                    Some(digit) => {
                        self.unit_byte(first, out);
                        input = &input[1..];
                        let value = value << 4 | digit as u16;
                        if seen == 3 {
                            self.unit_done(utf8_len(value), matches!(value, 0xD800..0xDC00));
                        } else {
                            self.state = State::Hex(seen + 1, value);
                        }
                    }
                    // Not JSON: the parser reports it.
                    None => self.state = State::Inside,
                },
            }
        }
    }

    fn close(&mut self, out: &mut Vec<u8>, cuts: &mut Vec<Cut>) {
        if self.dropped > 0 {
            cuts.push(Cut { at: out.len(), dropped: self.dropped });
        }
        out.push(b'"');
        self.state = State::Outside;
    }

    fn plain(&mut self, run: &[u8], out: &mut Vec<u8>) {
        self.pair_open = false;
        let mut keep = 0;
        if !self.dropping {
            keep = run.len().min(self.limit.saturating_sub(self.kept));
            while self.extra < 3 && run.get(keep).is_some_and(|b| b & 0xC0 == 0x80) {
                keep += 1;
                self.extra += 1;
            }
            out.extend_from_slice(&run[..keep]);
            self.kept += keep;
            self.dropping = keep < run.len();
        }
        self.dropped += (run.len() - keep) as u64;
    }

    fn escape(&mut self, out: &mut Vec<u8>) {
        if self.kept >= self.limit && !self.pair_open {
            self.dropping = true;
        }
        self.state = State::Escape;
        self.unit_byte(b'\\', out);
    }

    fn unit_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if !self.dropping {
            out.push(byte);
            self.kept += 1;
        }
    }

    fn unit_done(&mut self, bytes: u64, high: bool) {
        self.state = State::Inside;
        if self.dropping {
            self.dropped += bytes;
        } else {
            // A second high surrogate in a row is a lone one. It must not extend the string.
            self.pair_open = high && !self.pair_open;
        }
    }
}

/// The UTF-8 bytes of a UTF-16 unit. Half a surrogate pair counts as half of the pair's four bytes.
fn utf8_len(unit: u16) -> u64 {
    match unit {
        0..0x80 => 1,
        0x80..0x800 | 0xD800..0xE000 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorten(limit: usize, pieces: &[&[u8]]) -> (Vec<u8>, Vec<Cut>) {
        let (mut machine, mut out, mut cuts) = (Shortener::new(limit), Vec::new(), Vec::new());
        for piece in pieces {
            machine.feed(piece, &mut out, &mut cuts);
        }
        (out, cuts)
    }

    #[test]
    fn short_strings_pass_unchanged() {
        let line = br#"{"a":"x\n\u00e9","b":[1,"\"\\"]}"#;
        assert_eq!(shorten(32, &[line]), (line.to_vec(), vec![]));
    }

    #[test]
    fn a_long_string_keeps_its_head_and_the_rest_is_counted() {
        let (out, cuts) = shorten(4, &[br#"{"a":"abcdefgh","b":"xy"}"#]);
        assert_eq!(out, br#"{"a":"abcd","b":"xy"}"#);
        assert_eq!(cuts, [Cut { at: 10, dropped: 4 }]);
        assert_eq!(out[cuts[0].at], b'"');
    }

    #[test]
    fn a_shortened_result_is_valid_json_and_counts_every_byte() {
        let text = "a\"b\\c\né€😀\u{1}ü😀😀\u{7f}zé€";
        let escaped_unicode: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let plain = serde_json::to_string(text).unwrap();
        for body in [plain, format!("\"{escaped_unicode}\"")] {
            let line = format!("{{\"k\":{body}}}");
            for limit in 1..body.len() + 2 {
                for piece in 1..8 {
                    let pieces: Vec<&[u8]> = line.as_bytes().chunks(piece).collect();
                    let (out, cuts) = shorten(limit, &pieces);
                    let value: serde_json::Value =
                        serde_json::from_slice(&out).unwrap_or_else(|e| panic!("{e}: {:?}", String::from_utf8_lossy(&out)));
                    let kept = value["k"].as_str().unwrap();
                    assert!(text.starts_with(kept));
                    let dropped: u64 = cuts.iter().map(|c| c.dropped).sum();
                    assert_eq!(kept.len() as u64 + dropped, text.len() as u64);
                }
            }
        }
    }

    #[test]
    fn endless_continuation_bytes_and_lone_surrogates_stay_bounded() {
        let (mut machine, mut out, mut cuts) = (Shortener::new(8), Vec::new(), Vec::new());
        machine.feed(b"\"", &mut out, &mut cuts);
        for _ in 0..1000 {
            machine.feed(&[0x80], &mut out, &mut cuts);
        }
        assert!(out.len() < 16);
        let (out, _) = shorten(8, &[b"\"", &br"\ud83d".repeat(1000)]);
        assert!(out.len() < 32, "{}", out.len());
    }
}
