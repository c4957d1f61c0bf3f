use crate::agent::stream::lines::*;

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
        let dropped = l.dropped_in(l.text());
        all.push((l.text().to_owned(), l.size(), l.torn(), l.over_limit(), dropped));
    }
    all
}

const SMALL: Limits = Limits { string: 16, line: 200, head: 10 };

#[test]
fn lines_come_one_by_one_whatever_the_pieces_and_blank_ones_are_skipped() {
    for piece in [1, 2, 3, 7, 100] {
        let got = read_all(BoundedLines::with_limits(Drip(b"{\"a\":1}\n\n \r\n{\"b\":2}\r\n", piece), SMALL));
        let texts: Vec<_> = got.iter().map(|l| l.0.as_str()).collect();
        assert_eq!(texts, ["{\"a\":1}", "{\"b\":2}\r"]);
        assert!(got.iter().all(|l| !l.2 && !l.3));
    }
}

#[test]
fn a_half_line_at_the_end_is_delivered_as_torn() {
    let got = read_all(BoundedLines::new(&b"{\"a\":1}\n{\"b\":"[..]));
    assert!(!got[0].2);
    assert_eq!((got[1].0.as_str(), got[1].2), ("{\"b\":", true));
}

#[test]
fn a_long_half_line_at_the_end_is_delivered_as_torn_with_its_size() {
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
fn a_line_that_is_too_long_without_strings_is_delivered_as_its_head_with_its_true_size() {
    let line = format!("[{}]\n{{\"b\":1}}\n", "1,".repeat(500));
    for piece in [1, 64, 5000] {
        let got = read_all(BoundedLines::with_limits(Drip(line.as_bytes(), piece), SMALL));
        assert_eq!(got[0], ("[1,1,1,1,1".into(), 1002, false, true, 0));
        assert_eq!(got[1].0, "{\"b\":1}");
    }
}

#[test]
fn two_hundred_megabytes_on_one_line_take_bounded_memory_and_keep_their_true_size() {
    let (head, tail) = (&b"{\"type\":\"user\",\"text\":\""[..], &b"\",\"after\":1}\n"[..]);
    let size = 200 << 20;
    let body = io::repeat(b'z').take(size);
    let mut lines = BoundedLines::new(head.chain(body).chain(tail));
    let line = lines.next_line().unwrap().unwrap();
    assert_eq!(line.size(), size + head.len() as u64 + tail.len() as u64 - 1);
    let value: serde_json::Value = serde_json::from_str(line.text()).unwrap();
    assert_eq!(value["after"], 1);
    let kept = value["text"].as_str().unwrap().len() as u64;
    assert_eq!((kept, line.dropped_in(line.text())), (65536, size - 65536));
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
    let value: serde_json::Value = serde_json::from_str(line.text()).unwrap();
    assert_eq!(value["b"], "\u{fffd}");
    assert_eq!(&line.text()[line.cuts()[0].at..line.cuts()[0].at + 1], "\"");
}

#[test]
fn what_was_dropped_is_told_for_each_part_of_the_line() {
    let text = format!("{{\"a\":\"{}\",\"b\":\"{}\"}}\n", "y".repeat(50), "z".repeat(30));
    let mut lines = BoundedLines::with_limits(text.as_bytes(), SMALL);
    let line = lines.next_line().unwrap().unwrap();
    let b = line.text().find("\"b\"").unwrap();
    assert_eq!(line.dropped_in(&line.text()[..b]), 34);
    assert_eq!(line.dropped_in(&line.text()[b..]), 14);
    assert_eq!(line.dropped_in("elsewhere"), 0);
}

#[test]
fn an_interrupted_read_is_retried_and_another_error_loses_nothing() {
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
    assert_eq!(line.text(), "{\"a\":\"0123456789012345\"}");
    assert_eq!(line.size(), 28);
}
