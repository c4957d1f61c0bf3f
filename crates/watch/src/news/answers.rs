//! Answers that people give through a channel.

use crate::news::lines::ChannelAnswer;
use askbox_config::{Means, Target};
use askbox_mailbox::transitions::accept::{self, Decision, On};
use askbox_mailbox::{Accepted, AnswerValue, Below, Caller, Error, Mailbox, Result, RoundId, Through, round, text};

/// Answers the round that a notice showed, in the name of the target's person. Its hash proves that the person saw this question.
///
/// # Errors
/// [`Error::Invalid`] if the value does not fit. [`Error::Conflict`] and [`Error::NotFound`] if it came too late, if the question is another
/// one now, or if it asks for a permission.
pub(super) fn apply(mailbox: &Mailbox, name: &str, target: &Target, answer: &ChannelAnswer) -> Result<Accepted> {
    let person = if target.person.is_empty() { name } else { target.person.as_str() };
    let channel = if matches!(target.means(), Some(Means::Ntfy(_))) { "ntfy" } else { "channel" };
    let caller = Caller::new(person, channel, Through::Message, Below::NoAgent)?;
    let on = On::Shown(answer.question_id, answer.shown.parse()?);
    let answered = accept::answer_pending(mailbox, &answer.workflow_id, Decision::by(&caller, on), |_| {
        Ok(caller.value(AnswerValue::Text(answer.value.clone())))
    })?;
    answered.ok_or_else(|| Error::not_found(format!("{} waits for no answer", answer.workflow_id), "see: ask-answer list"))
}

/// The reason why an answer changed nothing, for its person.
pub(super) fn refusal(mailbox: &Mailbox, answer: &ChannelAnswer, error: &Error) -> String {
    let id = RoundId { workflow: answer.workflow_id.clone(), question: answer.question_id };
    let question = round::find(mailbox, &id).map(|found| found.document.typed);
    let before = question.and_then(|question| question.answer.map(|answer| format!("It was {} before.", answer.said_by())));
    before.unwrap_or_else(|| text::excerpt(&error.to_string(), 200))
}
