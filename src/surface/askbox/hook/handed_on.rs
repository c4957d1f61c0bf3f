//! The user of a session has answered a call of AskUserQuestion: where its input is that of a question that waits, the hook answers that
//! question with what the user chose. The agent need not repeat it.
//!
//! What is compared is all that the user saw. Two questions with the same words are no question in particular, and one that permits a tool
//! call is answered by a command that the user approves.

use serde_json::{Value, json};

use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::listing::list;
use crate::mailbox::transitions::accept::{self, Decision, On};
use crate::mailbox::{Mailbox, Question, round};
use crate::surface::ask_answer::{answering, ask_user};
use crate::surface::askbox::hook::event::Session;
use crate::surface::program::{self, Context};
use crate::text;

/// `answer.channel` of such an answer.
const CHANNEL: &str = "askbox hook";

/// What the session is told about it; `None` if the call asked nothing that waits here.
pub(super) fn hand_on(event: &Session, context: &Context) -> Option<String> {
    let mailbox = Mailbox::locate(None).ok().filter(|path| path.symlink_metadata().is_ok()).and_then(|path| Mailbox::open(path).ok())?;
    let (workflow, on) = asked(&mailbox, &event.tool_input["questions"])?;
    Some(match answer(&mailbox, context, &workflow, on, &event.tool_response) {
        Ok(Some(words)) => format!("askbox: this answer of your user was handed on. {workflow}: {words}. Do not pass it on again."),
        Ok(None) => format!("askbox: somebody else answered {workflow} meanwhile; see `ask-answer show {workflow}`."),
        Err(e) => format!(
            "askbox: this answer of your user was not handed on to {workflow}: {}. Hint: {}",
            program::message(&e),
            text::one_line(&e.hint())
        ),
    })
}

/// The one waiting question of which this is what AskUserQuestion showed.
fn asked(mailbox: &Mailbox, shown: &Value) -> Option<(WorkflowId, On)> {
    let is_it = |question: &Question| {
        question.asked.until.is_none() && question.asked.approval.is_none() && ask_user::to_input(question)["questions"] == *shown
    };
    let found = list::pending(mailbox, |pending| {
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
    let accepted = accept::answer_pending(mailbox, workflow, Decision::of(&person, on), reply)?;
    Ok(accepted.map(|accepted| match accepted.answer.value {
        Some(_) => answering::acknowledged(&accepted),
        None => accepted.answer.word().to_owned(),
    }))
}
