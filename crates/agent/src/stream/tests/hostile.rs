//! Lines that are too large, torn, broken or unknown.

use crate::events::{EventWriter, LINE_LIMIT};
use crate::stream::interpreter::RAW_HEAD;
use crate::stream::ledger::RESULT_TEXT;
use crate::stream::lines::{Limits, Line};
use crate::stream::tests::*;

#[test]
fn a_huge_tool_result_is_cut_and_its_true_size_stated() {
    let line = format!(
        r#"{{"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"{}"}},{{"type":"text","text":"ab"}}]}}]}},"tool_use_result":{{"stdout":"{}"}},"type":"user"}}"#,
        "é\\n".repeat(1_000_000),
        "y".repeat(1_000_000)
    );
    let all = read(line.as_bytes());
    let [StreamItem::Event(EventKind::ToolResult { text, bytes, .. })] = &all[..] else { panic!() };
    assert_eq!(*bytes, 3_000_002);
    assert!(text.raw().len() <= RESULT_TEXT && text.raw().starts_with("é\né"));
}

#[test]
fn unknown_broken_and_deep_lines_pass_through_as_raw() {
    let deep = format!("{{\"type\":\"assistant\",\"message\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&str, &str); 15] = [
        (r#"{"a":1,"type":"telepathy","subtype":"new"}"#, "telepathy/new"),
        (r#"{"type":"attachment"}"#, "attachment"),
        ("warning: something", "not_json"),
        ("[1,2]", "not_json"),
        (r#"["assistant",null]"#, "not_json"),
        ("{}", ""),
        (r#"{"type":"user","message":{"content":"[Request interrupted by user]"}}"#, "user"),
        (r#"{"type":"assistant","message":42}"#, "assistant"),
        (r#"{"type":"assistant","message":{"content":[1,null,"x",{}]}}"#, "assistant"),
        (&deep, "assistant"),
        (r#"{"type":"user","type":"user"}"#, "not_json"),
        (r#"{"type":"user","message":{},"message":{}}"#, "not_json"),
        (r#"{"type":"user","message":{"content":[],"content":[]}}"#, "not_json"),
        (r#"{"type":"user","unknown":{},"unknown":{}}"#, "user"),
        (r#"{"type":"user","message":{}} {}"#, "not_json"),
    ];
    for (line, expected) in cases {
        let all = Interpreter::new().feed(&Line::whole(line));
        let [StreamItem::Event(EventKind::Raw { what, bytes, head })] = &all[..] else { panic!("{all:?}") };
        assert_eq!((what.raw(), *bytes), (expected, line.len() as u64));
        assert!(head.raw().len() <= RAW_HEAD);
    }
    let torn = read(br#"{"type":"assistant","mess"#);
    assert!(matches!(&torn[..], [StreamItem::Event(EventKind::Raw { what, .. })] if what == "torn"));
}

#[test]
fn a_tool_input_that_is_too_deep_is_kept_as_text() {
    let line = format!(
        r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"i","name":"T","input":{}{}}}]}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let all = read(line.as_bytes());
    let [StreamItem::RoundTrip, StreamItem::Event(EventKind::ToolCall { input, .. })] = &all[..] else { panic!("{all:?}") };
    assert!(input.as_str().unwrap().starts_with("[[[["));
}

#[test]
fn half_a_surrogate_pair_of_javascript_costs_one_character() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    let all = read(line.as_bytes());
    assert!(matches!(&all[..], [StreamItem::RoundTrip, StreamItem::Event(EventKind::Text { text, .. })] if text == "cut \u{fffd}"));
}

/// A small generator of pseudo-random numbers (xorshift64*).
struct Dice(u64);
impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit.max(1)
    }
}

#[test]
fn mutated_real_lines_never_panic_and_stay_bounded() {
    let corpus: [&[u8]; 8] = [
        stream!("turns/tools"),
        stream!("permissions/permission_cancelled"),
        stream!("errors/overloaded"),
        stream!("sessions/deferred_answered"),
        stream!("turns/subagent"),
        stream!("turns/two_turns"),
        stream!("turns/initialize"),
        stream!("turns/interrupt_tool"),
    ];
    let spice: [&[u8]; 14] =
        [b"\"", b"\\", b"\\u", b"\\ud83d", b"\n", b"\0", b"\xff", b"\xf0\x9f", b"{", b"[[[[[[[[", b"null", b"1e999", b"-1", b","];
    let limits = Limits { string: 300, line: 4000, head: 100 };
    let mut dice = Dice(0x1234_5678_9ABC_DEF1);
    for round in 0..1500 {
        let mut bytes = corpus[dice.below(corpus.len())].to_vec();
        for _ in 0..1 + dice.below(30) {
            let at = dice.below(bytes.len());
            let end = at + dice.below((bytes.len() - at).min(400));
            match dice.below(5) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, spice[dice.below(spice.len())].iter().copied())),
                3 => {
                    let part = bytes[at..end].repeat(1 + dice.below(20));
                    drop(bytes.splice(at..at, part));
                }
                _ => bytes.truncate(bytes.len() - dice.below(50)),
            }
        }
        let limits = if round % 2 == 0 { limits } else { Limits::default() };
        let mut lines = BoundedLines::with_limits(&bytes[..], limits);
        let mut agent = Interpreter::new();
        let mut writer = EventWriter::new(Vec::new());
        let mut seen = 0;
        while let Some(line) = lines.next_line().unwrap() {
            assert!(line.text.len() <= 3 * (limits.line + limits.string));
            assert!(line.size <= bytes.len() as u64);
            seen += line.size;
            for item in agent.feed(&line) {
                if let StreamItem::Event(event) = item {
                    let before = writer.get_ref().len();
                    writer.append(chrono::DateTime::default(), &event).unwrap();
                    let written = &writer.get_ref()[before..];
                    assert!(written.len() <= LINE_LIMIT);
                    let read: crate::events::Event = serde_json::from_slice(written).unwrap();
                    assert_eq!(read.seq, writer.last_seq);
                }
            }
        }
        assert!(seen <= bytes.len() as u64);
        writer.append(chrono::DateTime::default(), &agent.interrupted("test")).unwrap();
    }
}
