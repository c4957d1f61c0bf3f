//! What a person's reply to an approval question means.

use crate::mailbox::Question;
use crate::mailbox::documents::answer::{AnswerValue, Outcome};
use crate::mailbox::documents::fields::approval::{ONCE, WORKFLOW};

/// What a person's reply means, before anything is used.
pub(super) enum Reply {
    Once,
    Workflow,
    Refused(String),
}

/// What the answer says; `None` if there is none.
pub(super) fn reply(question: &Question) -> Option<Reply> {
    let answer = question.answer.as_ref()?;
    if let Some(asked) = answer.counter_question() {
        return Some(Reply::Refused(format!(
            "The user asks back before they decide: {asked}\nThis call is not allowed. Find out what they ask, then make the call again and reply in its description, or ask with your own tool."
        )));
    }
    Some(match (answer.outcome, &answer.value) {
        (Outcome::Answered, Some(AnswerValue::Text(word))) if answer.is_a_persons() && word == ONCE => Reply::Once,
        (Outcome::Answered, Some(AnswerValue::Text(word))) if answer.is_a_persons() && word == WORKFLOW => Reply::Workflow,
        (Outcome::Answered, _) => Reply::Refused("Nobody has allowed this call: its answer is no approval of a person.".into()),
        (Outcome::Declined, _) => {
            let note = answer.note.as_deref().map(|note| format!(" They say: {note}")).unwrap_or_default();
            Reply::Refused(format!(
                "The user refused this call.{note} Do not try to reach the same in another way: go on without it, or end your turn and say what is missing."
            ))
        }
    })
}
