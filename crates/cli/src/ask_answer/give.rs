//! Gives a person's answer to one question, and says what became of it.

use serde_json::json;

use crate::args::ask_answer_args::AskAnswer;
use crate::person::held_up;
use crate::{Context, answering, program};
use askbox_mailbox::{
    Accepted, Answer, AnswerValue, Caller, Decision, Error, Mailbox, On, Result, WorkflowId, accept, match_option, round,
};
use askbox_run::asking::receipt::{self, End};
use askbox_run::asking::{next_prompt, orphans};

/// The way of these answers.
const CHANNEL: &str = "ask-answer";

/// Gives a person's answer to the question of a workflow, and says what became of it.
pub(super) fn give(
    args: &AskAnswer,
    context: &Context,
    mailbox: &Mailbox,
    id: &WorkflowId,
    on: impl Into<On>,
    reply: Answer,
    person: &Caller,
) -> Result<()> {
    orphans::end_waiting(mailbox, id)?;
    let accepted = accept::answer(mailbox, id, decision(args, person, on), reply);
    acknowledge(args, context, mailbox, &accepted.inspect_err(|e| offer_as_prompt(mailbox, id, e))?)
}

/// Says how an answer that came too late can still reach its session.
pub(super) fn offer_as_prompt(mailbox: &Mailbox, id: &WorkflowId, e: &Error) {
    let Some(last) = round::latest(mailbox, id).filter(|_| matches!(e, Error::Conflict { .. })) else { return };
    if let Some(offer) = next_prompt::offer(&last.document.typed) {
        program::say(&format!("{offer}\n"));
    }
}

/// Says who decides on what, and whether in their own words.
pub(super) fn decision<'a>(args: &AskAnswer, person: &'a Caller, on: impl Into<On>) -> Decision<'a> {
    let decision = Decision::by(person, on);
    if args.reply.text { decision.in_own_words() } else { decision }
}

/// The person who answers.
pub(super) fn person(args: &AskAnswer, context: &Context) -> Result<Caller> {
    context.caller(args.reply.by.as_deref(), CHANNEL)
}

/// Says what became of an accepted answer.
pub(super) fn acknowledge(args: &AskAnswer, context: &Context, mailbox: &Mailbox, accepted: &Accepted) -> Result<()> {
    let (id, reply) = (&accepted.round.workflow, &accepted.answer);
    if let Some(warning) = &accepted.warning {
        program::warn(warning);
    }
    let held_up = held_up(context, mailbox, &accepted.question);
    if !args.common.json {
        program::print(&format!("{id}: {}\n", answering::acknowledged(&accepted.question, reply)))?;
        held_up.iter().for_each(|why| program::warn(why));
    }
    let end = receipt::told(mailbox, &accepted.question, &accepted.round);
    if args.common.json {
        program::print_json(&json!({
            "state": reply.event(), "workflow_id": id, "question_id": accepted.round.question,
            "value": reply.value.as_ref().map(AnswerValue::to_json),
            "own_words": match_option::told(&accepted.question, reply), "warning": accepted.warning, "held_up": held_up, "end": end,
        }))?;
    }
    match end {
        Some(End::TooLate { why }) => {
            Err(Error::conflict(format!("{id}: {}", End::TooLate { why }.words()), format!("look at it: ask-answer show {id}")))
        }
        Some(end) if !args.common.json => program::print(&format!("{id}: {}\n", end.words())),
        _ => Ok(()),
    }
}
