//! Finds the message of the agent in a line that holds other bytes too, such as a terminal's escape sequences, or words without a line end.
//!
//! Only a line that is not one clean JSON object is searched. The object must run to the end of the line: only control characters and
//! escape sequences may follow. JSON inside of a string or of another object never counts, because the search goes on behind whatever
//! was read as JSON. So a text that the agent quotes cannot pass for a message of the agent.

use serde::de::IgnoredAny;

use crate::stream::wire::repair;

/// The most places of a line that are tried. Each try begins where the one before it has ended, so a line is read about once.
const MOST_TRIES: usize = 1024;

/// A message, and whether words stand in front of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The line, of the same length, with spaces for all that is not the message.
    pub line: String,
    /// True if more than control characters and escape sequences precede the message.
    pub has_words: bool,
}

/// The message in a line that is not one clean JSON object.
pub fn message_in(line: &str) -> Option<Found> {
    let repaired = repair(line);
    let json = repaired.as_deref().unwrap_or(line);
    let mut at = 0;
    for _ in 0..MOST_TRIES {
        let start = at + json.as_bytes()[at..].iter().position(|byte| *byte == b'{')?;
        let mut values = serde_json::Deserializer::from_str(&json[start..]).into_iter::<IgnoredAny>();
        match values.next()? {
            Ok(_) => {
                let end = start + values.byte_offset();
                if is_invisible(&line[end..]) {
                    let alone = [&" ".repeat(start), &json[start..end], &" ".repeat(line.len() - end)].concat();
                    return Some(Found { line: alone, has_words: !is_invisible(&line[..start]) });
                }
                at = end;
            }
            // The rest is the beginning of an object, and all that it holds is a part of it.
            Err(error) if error.is_eof() => return None,
            // There is one line, so the column is the number of bytes up to the fault.
            Err(error) => at = start + error.column().max(1),
        }
    }
    None
}

/// True if a terminal shows none of this: white space, control characters, byte order marks and escape sequences.
fn is_invisible(text: &str) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let is_ended = match c {
            '\x1b' => skip_sequence(&mut rest),
            c => c.is_control() || c.is_whitespace() || c == '\u{feff}',
        };
        if !is_ended {
            return false;
        }
    }
    true
}

/// Goes behind the escape sequence that begins here (ECMA-48). Returns false if it does not end.
fn skip_sequence(rest: &mut std::str::Chars<'_>) -> bool {
    match rest.next() {
        Some('[') => rest.any(|c| matches!(c, '@'..='~')),
        // A string for the terminal, such as a title: up to a bell, or an escape with a backslash.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let mut before = ' ';
            rest.any(|c| c == '\x07' || std::mem::replace(&mut before, c) == '\x1b' && c == '\\')
        }
        Some(' '..='/') => rest.any(|c| matches!(c, '0'..='~')),
        Some(_) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message that is found, and whether words precede it.
    fn found(line: &str) -> Option<(String, bool)> {
        let found = message_in(line)?;
        assert_eq!(found.line.len(), line.len());
        Some((found.line.trim().to_owned(), found.has_words))
    }

    #[test]
    fn a_message_is_found_behind_and_before_what_is_not_shown() {
        let message = r#"{"a":{"b":"{\"c\":1}"}}"#;
        for dirt in ["", "\u{feff}", "\x1b[2J", "\x1b[1;31m\x1b]0;title\x07 \x1b(B", "\x1b]8;;x\x1b\\\r", "\0\u{85}", "\x1b7"] {
            assert_eq!(found(&format!("{dirt}{message}{dirt}")), Some((message.to_owned(), false)), "{dirt:?}");
            assert_eq!(found(&format!("50% {{x}} done{dirt}{message}{dirt}")), Some((message.to_owned(), true)), "{dirt:?}");
        }
        assert_eq!(found("\x1b[2J{\"a\":\"\u{1} \\ud83d\"}\x1b[0m"), Some((r#"{"a":"  \ufffd"}"#.to_owned(), false)));
    }

    #[test]
    fn json_that_the_agent_only_quotes_is_not_a_message() {
        let forged = r#"{"type":"result"}"#;
        let quoted = serde_json::to_string(forged).unwrap();
        for line in [
            format!("{forged} and more"),
            format!("x {forged}\x1b[2J."),
            format!("x {forged}\x1b]0;a title that does not end"),
            // Torn: the object is a part of a longer one.
            format!(r#"{{"input":{forged}"#),
            format!(r#"x{{"input":{forged}"#),
            format!("x{{\"input\":{forged}\x1b[0m"),
            format!(r#"{{"content":{quoted}"#),
            format!(r#"x {{"content":{quoted}"#),
            quoted.clone(),
            format!("[{forged}]"),
            "no brace".into(),
            "{".repeat(100_000),
            "{\"a\":".repeat(100_000),
        ] {
            assert_eq!(message_in(&line), None, "{line:.100}");
        }
        let outer = format!(r#"{{"input":{forged},"content":{quoted}}}"#);
        assert_eq!(found(&format!("x {outer}")), Some((outer, true)));
        assert_eq!(found(&format!("{{\"a\":1}}{forged}")), Some((forged.to_owned(), true)));
    }
}
