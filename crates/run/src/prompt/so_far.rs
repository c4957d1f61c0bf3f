//! The words about a workflow's past, for a session that knows nothing of it: the task, and the questions with their answers.

use std::path::PathBuf;

use crate::words::inserted::{at_the_end, quoted};
use crate::words::user_added;
use askbox_config::Config;
use askbox_mailbox::listing::recent_rounds::KEPT;
use askbox_mailbox::{Answer, AnswerValue, Closed, Content, Mailbox, Outcome, Question, recent_rounds, round, text};

/// The length of an earlier question or answer in the message, in bytes. The agent finds the whole text with `ask-answer show`.
const LONGEST: usize = 2000;

/// The words about the rounds before this one. `None` if there are none.
pub(super) fn in_words(mailbox: &Mailbox, config: &Config, question: &Question) -> Option<String> {
    let task = task(mailbox, question);
    let begun = task.as_ref().and_then(|task| task.prompt.as_deref());
    let begun = begun.map(|prompt| format!("The workflow was begun with this prompt:\n{}\n", quoted(prompt)));
    let policy = config.answers.policy();
    let mut earlier = recent_rounds::closed_last(mailbox, &question.workflow_id, KEPT);
    earlier.reverse();
    let earlier: String = earlier
        .iter()
        .map(|(_, document)| &document.typed)
        .filter(|earlier| earlier.closed.as_ref().is_some_and(|closing| closing.state == Closed::Delivered))
        // A permission was for one call, and a form was a server's.
        .filter(|earlier| earlier.approval.is_none() && earlier.elicited_by.is_none() && policy.judge(earlier).is_ok())
        .filter_map(|earlier| Some(answered(earlier, earlier.answer.as_ref()?)))
        .collect();
    let earlier = Some(earlier).filter(|earlier| !earlier.is_empty());
    let earlier = earlier.map(|earlier| format!("Questions that it has asked before, with what came of them then:\n{earlier}"));
    let words: Vec<String> = begun.into_iter().chain(earlier).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}

/// The files that the workflow's first prompt names.
pub(super) fn files(mailbox: &Mailbox, question: &Question) -> Vec<PathBuf> {
    task(mailbox, question).map(|task| task.reads).unwrap_or_default()
}

/// The document that the workflow began with, unless that is this one.
fn task(mailbox: &Mailbox, question: &Question) -> Option<Question> {
    if matches!(question.content(), Content::Task(_)) { None } else { round::first_task(mailbox, &question.workflow_id) }
}

fn answered(question: &Question, answer: &Answer) -> String {
    let beginning = |text: &str| at_the_end(text::beginning(text, LONGEST).trim_end());
    let reply = match (answer.counter_question(), answer.outcome, answer.value.as_ref().map(AnswerValue::to_text)) {
        (Some(asked), ..) => return format!("{}\nThe user asked back:{}\n", shown(question), beginning(asked)),
        (None, Outcome::Answered, Some(value)) if answer.is_a_persons() => format!("The answer was:{}", beginning(&value)),
        (None, Outcome::Answered, Some(value)) => format!("Nobody answered. It went on with:{}", beginning(&value)),
        _ => "It was declined.".to_owned(),
    };
    format!("{}\n{reply}{}\n", shown(question), user_added(answer))
}

fn shown(question: &Question) -> String {
    quoted(&text::beginning(&question.title(), LONGEST))
}
