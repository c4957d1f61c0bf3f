//! Hands on an answer that the user of a session gave in AskUserQuestion. If the call's input shows a question that waits in the mailbox,
//! the hook answers that question with the user's choice, so that the agent need not repeat it.
//!
//! The comparison covers everything that the user saw. If two waiting questions look the same, neither is answered. A question that permits
//! a tool call is not answered here either: the user approves a command for it.
//!
//! Tells the model of a user's session what ran, after a call that its user has changed in the mailbox, and what the user says beside it.
//! Claude Code tells it only that the call was made.

use serde_json::{Value, json};

use crate::commands::hook::event::Session;
use askbox_cli::ask_answer::ask_user_question;
use askbox_cli::{Context, answering, program};
use askbox_mailbox::overview::waiting;
use askbox_mailbox::{Decision, Mailbox, On, Outcome, Question, Result, Through, WorkflowId, accept, round, text};
use askbox_run::asking::posted;
use askbox_run::words::beside_allowance;
use askbox_run::words::inserted::on_one_line;

/// `answer.channel` of an answer from AskUserQuestion.
const CHANNEL: &str = "askbox hook";

/// Hands on the answer, and returns the words that tell the session. `None` if the call's question does not wait here.
pub(super) fn hand_on(event: &Session, context: &Context) -> Option<String> {
    let mailbox = Mailbox::locate(None).ok().filter(|path| path.symlink_metadata().is_ok()).and_then(|path| Mailbox::open(path).ok())?;
    let (workflow, on) = asked(&mailbox, &event.tool_input["questions"])?;
    Some(match answer(&mailbox, context, &workflow, on, &event.tool_response) {
        Ok(Some(words)) => {
            format!("askbox: this answer of your user was handed on. {workflow}: {}. Do not pass it on again.", on_one_line(&words))
        }
        Ok(None) => format!("askbox: somebody else answered {workflow} meanwhile; see `ask-answer show {workflow}`."),
        Err(e) => format!(
            "askbox: this answer of your user was not handed on to {workflow}: {}. Hint: {}",
            program::message(&e),
            text::one_line(&e.hint())
        ),
    })
}

/// The one waiting question that AskUserQuestion shows in exactly this way.
fn asked(mailbox: &Mailbox, shown: &Value) -> Option<(WorkflowId, On)> {
    let is_it = |question: &Question| {
        question.until.is_none()
            && question.approval.is_none()
            // The dialog of the session itself is settled by its hook.
            && question.live.is_none()
            && ask_user_question::to_input(question)["questions"] == *shown
    };
    let found = waiting::pending(mailbox, |pending| {
        let question = pending.document.ok()?.typed;
        let round = is_it(&question).then(|| round::of_pending(mailbox, &question).ok()).flatten()?;
        Some((pending.workflow, On::question(&round, &question).ok()?))
    });
    let mut found = found.ok()?.into_iter().flatten();
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

fn answer(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, on: On, response: &Value) -> Result<Option<String>> {
    let result = json!({"answers": response["answers"], "annotations": response["annotations"]}).to_string();
    let person = context.caller_through(program::user(), CHANNEL, Through::Hook)?;
    let reply = |question: &Question| answering::from_json(question, result.as_bytes(), &person);
    let accepted = accept::answer_pending(mailbox, workflow, Decision::by(&person, on), reply)?;
    Ok(accepted.map(|accepted| answering::acknowledged(&accepted.question, &accepted.answer)))
}

/// The words about the call that was just made. `None` if its user has changed nothing and says nothing.
pub(super) fn tell(event: &Session, context: &Context) -> Option<String> {
    let mailbox = Mailbox::locate(None).ok().filter(|path| path.symlink_metadata().is_ok()).and_then(|path| Mailbox::open(path).ok())?;
    let question = posted::question_of_call(&mailbox, &event.cwd, &event.session_id, &event.tool_use_id)?;
    // Anybody who can write to the mailbox can write such a document.
    context.config().ok()?.answers.policy().judge(&question).ok()?;
    let answer = question.answer.as_ref()?;
    let editable = question.approval.as_ref()?.editable.as_ref()?;
    // Another hook, or the person at the terminal, may have been first.
    let is_what_ran = event.tool_input[editable.field.as_str()].as_str() == Some(answer.edited.as_ref().unwrap_or(&editable.text));
    let allows = answer.outcome == Outcome::Answered && is_what_ran;
    allows.then(|| beside_allowance(&event.tool_name, false, answer)).flatten()
}
