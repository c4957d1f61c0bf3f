//! The parts of a question: its kind of answer, its text and its options.
//!
//! A question in one line: its title with marks, its age, its asker.

use std::borrow::Cow;
use std::fmt::Write;

use crate::terminal::columns::{padded, width};
use askbox_mailbox::{Kind, Mailbox, Part, Question, RoundId, Time, excerpt, one_line, round, time};

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

/// The time since a question was asked.
pub fn age(question: &Question) -> String {
    question.asked_at().map_or_else(|| "-".into(), |at| time::human(time::since(at)))
}

/// True if the question's timeout has passed, so that a person is late.
pub fn is_overdue(question: &Question, now: Time) -> bool {
    question.until.is_none() && question.expires_at.is_some_and(|at| at <= now)
}

/// One line: the title, with marks for an overdue question, for its priority, for several questions, and for a wait that needs no person.
/// `mailbox` is `None` for a question of another machine.
pub fn headline(mailbox: Option<&Mailbox>, question: &Question) -> String {
    let overdue = if is_overdue(question, time::now()) { "(overdue) " } else { "" };
    format!("{overdue}{}", marked_title(mailbox, question))
}

/// True if the question replies to a person who asked back. The asker may name a round that does not exist. `mailbox` is `None` for a
/// question of another machine, whose rounds are not known here.
pub fn is_reply(mailbox: Option<&Mailbox>, question: &Question) -> bool {
    question.in_reply_to.is_some_and(|id| {
        let round = RoundId { workflow: question.workflow_id.clone(), question: id };
        mailbox.is_none_or(|mailbox| round::is_claimed_or_closed(mailbox, &round))
    })
}

/// The [`headline`] without the mark that depends on the time.
pub fn marked_title(mailbox: Option<&Mailbox>, question: &Question) -> String {
    let wait = question
        .until
        .as_ref()
        .map(|until| format!("({}) ", excerpt(&until.not_for_a_person(&question.question, question.expires_at), 200)));
    let wait = wait.unwrap_or_default();
    let priority = question.priority.filter(|p| *p != 0).map_or(String::new(), |p| format!("[{p:+}] "));
    let again = if is_reply(mailbox, question) { "(reply to you) " } else { "" };
    let many = if question.is_batch() { format!("({} questions) ", question.questions.len()) } else { String::new() };
    format!("{wait}{again}{priority}{many}{}", excerpt(&question.title(), 100))
}

/// The asker, or the live session whose dialog asks. Empty if nobody knows.
pub fn asker(question: &Question) -> String {
    if let Some(live) = &question.live { live.words() } else { question.asked_by.clone().unwrap_or_default() }
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
