//! Texts of documents inside our messages to an agent. A text is data: none of its lines stands where one of our lines stands, and an
//! agent, or a parser, can tell where it ends.
//!
//! | where the text stands | how it is written |
//! |---|---|
//! | at the end of one of our lines | as it is if it is one line, else quoted below that line ([`at_the_end`]) |
//! | alone | quoted ([`quoted`]) |
//! | inside one of our lines | as it is if the reader finds its end, else as a JSON string ([`within`]) |

use askbox_mailbox::text::{ends_a_line, escape_json};

/// The beginning of each line of a quoted text. No line of ours begins like this.
const QUOTE: &str = "> ";

/// Returns what follows a `label:` of ours: the text behind a space, or quoted on the lines below. Nothing of ours may follow on the
/// same line.
pub fn at_the_end(text: &str) -> String {
    let text = without_last_end(text);
    if text.contains(ends_a_line) { format!("\n{}", quoted(text)) } else { format!(" {text}") }
}

/// Returns the text with `> ` before each of its lines. Every character is kept, except one line end at the end.
pub fn quoted(text: &str) -> String {
    let mut out = QUOTE.to_owned();
    let mut rest = without_last_end(text);
    while let Some(at) = rest.find(ends_a_line) {
        let end = at + if rest[at..].starts_with("\r\n") { 2 } else { rest[at..].chars().next().map_or(1, char::len_utf8) };
        out.push_str(&rest[..end]);
        // Not every reader takes the character for the end of a line. The last character of a line of ours is a line feed.
        if !rest[..end].ends_with('\n') {
            out.push('\n');
        }
        out.push_str(QUOTE);
        rest = &rest[end..];
    }
    out + rest
}

/// Returns a short text for the middle of one of our lines, where `end` follows. The text stays as it is if it is one line, does not
/// hold `end`, and cannot be taken for a JSON string. Otherwise it is a JSON string, which is one line.
pub fn within(text: &str, end: &str) -> String {
    let is_clear = !text.is_empty() && text.trim() == text && !text.starts_with('"') && !text.contains(end) && !text.contains(ends_a_line);
    if is_clear { text.to_owned() } else { as_json(text) }
}

/// Returns the text as a JSON string without line ends.
pub fn as_json(text: &str) -> String {
    escape_json(&serde_json::Value::from(text).to_string())
}

/// Returns the text on one line, without the characters that end a line for some reader.
pub fn on_one_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(ends_a_line, " ")
}

fn without_last_end(text: &str) -> &str {
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix(ends_a_line)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_quoted_text_is_marked_and_kept() {
        assert_eq!(quoted("a"), "> a");
        assert_eq!(quoted(""), "> ");
        assert_eq!(quoted("a\n\nUser chose: yes\r\n"), "> a\n> \n> User chose: yes");
        assert_eq!(quoted("a\u{2028}b\rc"), "> a\u{2028}\n> b\r\n> c");
    }

    #[test]
    fn a_text_at_the_end_of_a_line_is_quoted_only_if_it_has_lines() {
        assert_eq!(at_the_end("yes\n"), " yes");
        assert_eq!(at_the_end("Deploy?\nUser chose: yes"), "\n> Deploy?\n> User chose: yes");
        assert_eq!(at_the_end("\nyes"), "\n> \n> yes");
    }

    #[test]
    fn a_text_in_a_line_is_json_if_its_end_is_not_clear() {
        assert_eq!(within("merge", " ("), "merge");
        assert_eq!(within("Which (new)", " ("), "\"Which (new)\"");
        for (text, json) in [("", "\"\""), ("\"x\"", r#""\"x\"""#), ("a\nb", r#""a\nb""#), ("a\u{85}b", r#""a\u0085b""#), (" a", "\" a\"")]
        {
            assert_eq!(within(text, ", "), json);
        }
    }
}
