//! How far words from outside have come in a session of Claude Code, as its transcript tells (measured with 2.1.332).

use std::io::{self, Read, Seek};

use crate::transcript::Entry;
use askbox_mailbox::disk::{LinesFromEnd, Part};
use askbox_mailbox::prompts::Reached;

/// The longest entry that is looked at, and the most bytes of a look.
const LONGEST: usize = 1 << 20;
const LARGEST_LOOK: usize = 16 << 20;

/// How far the words with this mark have come. The mark is unique, and stands in the words.
///
/// # Errors
/// The error of the file.
pub fn reached(transcript: impl Read + Seek, mark: &str) -> io::Result<Reached> {
    let mut lines = LinesFromEnd::new(transcript)?.bounded(LONGEST);
    let (mut left, mut is_over, mut is_taken_up) = (LARGEST_LOOK, false, false);
    while let Some(part) = lines.next_part()? {
        let (Part::Line(bytes) | Part::Inner(bytes) | Part::Begin(bytes)) = &part;
        let Some(rest) = left.checked_sub(bytes.len()) else { break };
        left = rest;
        let line = String::from_utf8_lossy(bytes);
        let may_end = !is_over && line.contains("\"end_turn\"");
        if !(may_end || line.contains(mark)) {
            continue;
        }
        let Ok(entry) = serde_json::from_str::<Entry>(&line) else { continue };
        match entry.kind.as_str() {
            "assistant" => is_over |= !entry.is_of_subagent && entry.is_work() && entry.message["stop_reason"] == "end_turn",
            "user" if entry.origin["kind"] == "peer" => return Ok(if is_over { Reached::Answered } else { Reached::TakenUp }),
            // The words reached a turn at work.
            "attachment" => is_taken_up = true,
            "queue-operation" if entry.operation == "enqueue" => {
                return Ok(match (is_taken_up, is_over) {
                    (false, _) => Reached::Given,
                    (true, false) => Reached::TakenUp,
                    (true, true) => Reached::Answered,
                });
            }
            _ => {}
        }
    }
    Ok(Reached::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn the_transcript_tells_how_far_words_have_come() {
        let enqueue = r#"{"type":"queue-operation","operation":"enqueue","content":"go on [askbox 1]"}"#;
        let remove = r#"{"type":"queue-operation","operation":"remove","content":"go on [askbox 1]"}"#;
        let message = r#"{"type":"user","origin":{"kind":"peer"},"message":{"content":"go on [askbox 1]"}}"#;
        let persons = r#"{"type":"user","origin":{"kind":"human"},"message":{"content":"[askbox 1]?"}}"#;
        let within = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"go on [askbox 1]"}}"#;
        let end = r#"{"type":"assistant","message":{"model":"m","stop_reason":"end_turn","content":[]}}"#;
        let call = r#"{"type":"assistant","message":{"model":"m","stop_reason":"tool_use","content":[]}}"#;
        let of = |lines: &[&str]| reached(Cursor::new(lines.join("\n") + "\n"), "[askbox 1]").unwrap();
        assert_eq!(of(&[]), Reached::Nothing);
        assert_eq!(of(&[end, persons]), Reached::Nothing);
        assert_eq!(of(&[end, enqueue]), Reached::Given);
        assert_eq!(of(&[end, enqueue, remove, message, call]), Reached::TakenUp);
        assert_eq!(of(&[enqueue, message, call, end]), Reached::Answered);
        assert_eq!(of(&[enqueue, within]), Reached::TakenUp);
        assert_eq!(of(&[enqueue, within, end, persons]), Reached::Answered);
    }
}
