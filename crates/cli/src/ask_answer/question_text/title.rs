//! A question in one line: its title with marks, its age, its asker.

use askbox_mailbox::text::excerpt;
use askbox_mailbox::{Mailbox, Question, RoundId, Time, round, time};

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
    match &question.live {
        Some(live) => live.words(),
        None => question.asked_by.clone().unwrap_or_default(),
    }
}
