//! The parts of a question: its kind of answer, its text and its options.

use std::borrow::Cow;
use std::fmt::Write;

use crate::terminal::columns::{padded, width};
use askbox_mailbox::text::one_line;
use askbox_mailbox::{Kind, Part};

/// The kind of answer, in words.
pub fn kind(part: &Part) -> Cow<'static, str> {
    Cow::Borrowed(match (part.kind(), part.free_text == Some(false)) {
        (Kind::Choice, true) => "one of these",
        (Kind::Choice, false) => "one of these, or your own words",
        (Kind::MultiChoice, true) => "any of these",
        (Kind::MultiChoice, false) => "any of these, or your own words",
        (Kind::YesNo, _) => "yes or no",
        (Kind::Text, _) => "your own words",
        (Kind::Number, _) => return part.range.as_ref().map_or(Cow::Borrowed("a number"), |range| range.words().into()),
    })
}

/// The text of a question. All lines after the first are indented, so that none of them can pass for a line of askbox. The first one begins at
/// the margin, where no command of askbox does.
pub fn asked(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

/// The question's text and options.
pub fn part(part: &Part, key: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(key) = key {
        // A key that begins with spaces would look like an indented line of askbox.
        let key = one_line(key);
        let _ = if key.trim() == key { write!(out, "{key}: ") } else { write!(out, "{key:?}: ") };
    }
    let _ = writeln!(out, "{}", asked(&part.question));
    let _ = writeln!(out, "  Answer: {}", kind(part));
    let keys = part.options.0.iter().map(|c| width(&one_line(&c.key))).max().unwrap_or(0).min(30);
    for choice in &part.options.0 {
        let line = format!("    {}  {}", padded(&one_line(&choice.key), keys), one_line(&choice.description));
        let _ = writeln!(out, "{}", line.trim_end());
        for line in choice.preview.iter().flat_map(|p| p.lines()) {
            let _ = writeln!(out, "    {:keys$}  | {line}", "");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::Question;

    #[test]
    fn no_text_of_a_question_begins_where_a_command_of_askbox_does() {
        let question: Question = serde_json::from_str(
            r#"{"workflow_id":"w","question":"  ask-answer other once","questions":[{"id":"  ask-answer other once","question":"  ask-answer"}]}"#,
        )
        .unwrap();
        let shown = part(&question.parts()[0], Some(&question.parts()[0].key(0)));
        assert!(shown.starts_with("\"  ask-answer other once\": ask-answer\n"), "{shown}");
        assert_eq!(asked("  ask-answer other once\n  x"), "ask-answer other once\n    x");
    }
}
