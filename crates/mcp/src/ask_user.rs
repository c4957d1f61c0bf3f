//! The tools `ask_user` and `check_answer`.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::desk::Desk;
use crate::question_state::{self, QuestionState};
use crate::receipts::Taken;
use askbox_cli::ask_post::posting;
use askbox_cli::ask_user_call;
use askbox_mailbox::round::Round;
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::{Error, Folder, Mailbox, Question, QuestionDocument, QuestionId, Result, RoundId, WorkflowId, round};
use askbox_run::asking::hold::{Begun, Look};
use askbox_run::claim::inline;
use askbox_run::story::Teller;

/// How long one wait lasts before checking if the client has cancelled the call.
const SLICE: Duration = Duration::from_secs(1);

/// The reply of a tool.
pub(super) enum ToolReply {
    Text(String),
    /// Words with an answer that this process has taken.
    Answer(String, Taken),
}

impl ToolReply {
    /// The reply that tells the asker of this round how it stands now.
    pub(super) fn about(desk: &Desk, mailbox: &Mailbox, asked: &RoundId, state: QuestionState) -> Result<Self> {
        let words = state.words(desk, mailbox, asked)?;
        Ok(match state {
            QuestionState::Taken(claim) => Self::Answer(words, Taken { mailbox: mailbox.clone(), claim }),
            _ => Self::Text(words),
        })
    }
}

/// `ask_user` of a client that waits. `is_given_up` returns true once the client has cancelled the call.
pub(super) fn ask(desk: &Desk, arguments: &Map<String, Value>, is_given_up: impl Fn() -> bool) -> Result<ToolReply> {
    let (mailbox, document) = question(desk, arguments)?;
    if let Some((asked, state)) = waiting_answer(desk, &mailbox, &document.typed)? {
        return ToolReply::about(desk, &mailbox, &asked, state);
    }
    post_and_wait(desk, &mailbox, document, is_given_up)
}

/// The question of a call, and the mailbox where it is posted.
fn question(desk: &Desk, arguments: &Map<String, Value>) -> Result<(Mailbox, QuestionDocument)> {
    let workflow = match ask_user_call::named_workflow(arguments)? {
        Some(workflow) => workflow,
        None => desk.unnamed(arguments)?,
    };
    let mut document = ask_user_call::question(arguments, &workflow)?;
    let mailbox = desk.common.open_or_create()?;
    posting::complete(&mailbox, &mut document.typed)?;
    Ok((mailbox, document))
}

/// The answer that waits to be taken, if the newest round of the workflow asked the same words: an earlier process of the caller has asked
/// them, and did not live to hear it. This process takes the answer. Without an answer, or once another process has it, the question is
/// posted.
fn waiting_answer(desk: &Desk, mailbox: &Mailbox, question: &Question) -> Result<Option<(RoundId, QuestionState)>> {
    let Some(Round { id, document, folder: Folder::Answered | Folder::Running }) = round::latest(mailbox, &question.workflow_id) else {
        return Ok(None);
    };
    if document.typed.answer.is_none() || !is_asked_again(&document.typed, question) {
        return Ok(None);
    }
    let state = question_state::find(desk, mailbox, &id, true)?;
    let waits = |state: &QuestionState| matches!(state, QuestionState::Taken(_) | QuestionState::Answered(_) | QuestionState::OnItsWay(..));
    Ok(state.filter(waits).map(|state| (id, state)))
}

/// True if a call asks what was asked before. A question about a tool call is the run's, whatever its words are.
fn is_asked_again(earlier: &Question, question: &Question) -> bool {
    earlier.approval.is_none() && earlier.elicited_by.is_none() && post::has_same_words(earlier, question)
}

/// `ask_user` of a client that knows tasks. Posts the question, and returns its mailbox and round. No watcher launches an agent for it.
pub(super) fn ask_for_a_task(desk: &Desk, arguments: &Map<String, Value>) -> Result<(Mailbox, RoundId)> {
    let (mailbox, mut document) = question(desk, arguments)?;
    // The task of the same words, whose answer waits for its session or was not shown to the model. `tasks/get` tells it.
    if let Some(Round { id, document: earlier, folder }) = round::latest(&mailbox, &document.typed.workflow_id)
        && earlier.typed.to_session
        && is_asked_again(&earlier.typed, &document.typed)
        && (folder == Folder::Answered || folder == Folder::Running && question_state::is_unheard(&mailbox, &id)?)
    {
        return Ok((mailbox, id));
    }
    document.typed.to_session = true;
    let asked = desk.post(&mailbox, document).map_err(in_words_of_a_tool)?;
    Ok((mailbox, asked.round))
}

/// Posts and waits like `ask-post --wait`: this process holds the workflow's waiter from before the post until the wait ends.
fn post_and_wait(desk: &Desk, mailbox: &Mailbox, document: QuestionDocument, is_given_up: impl Fn() -> bool) -> Result<ToolReply> {
    let policy = desk.config_now()?.answers.policy();
    let end = Instant::now() + desk.config.wait.0;
    // The workflow waits for the answer to another question, as if an agent calls `ask_user` twice at once.
    let is_other = |round: Round| !post::has_same_words(&round.document.typed, &document.typed);
    let asks_other = || round::latest(mailbox, &document.typed.workflow_id).is_none_or(is_other);
    let waiter = loop {
        match inline::begin(mailbox, &document.typed.workflow_id) {
            Err(Error::Conflict { .. }) if Instant::now() < end && !is_given_up() && asks_other() => {
                std::thread::sleep(SLICE);
            }
            other => break other.map_err(in_words_of_a_tool)?,
        }
    };
    let begun = waiter.post_unless_answered(mailbox, &policy, None, (document, &[]), IfPending::Conflict).map_err(in_words_of_a_tool)?;
    let mut held = match begun {
        Begun::Held(held) => *held,
        // The answer has come since this call looked for one.
        Begun::Answered(_waiter, claim) => return ToolReply::about(desk, mailbox, &claim.round(), QuestionState::Taken(claim)),
    };
    desk.remember(&held.receipt)?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match held.look(mailbox, &policy, left.min(SLICE), &is_given_up)? {
            Look::Answered(claim) => return ToolReply::about(desk, mailbox, held.round(), QuestionState::Taken(claim)),
            Look::Changed => {
                held = held.ask_anew(mailbox).map_err(in_words_of_a_tool)?;
                desk.remember(&held.receipt)?;
            }
            Look::Waits | Look::Ended(_) => {}
        }
        match question_state::find(desk, mailbox, held.round(), false)?.map(QuestionState::told_to_asker) {
            Some(QuestionState::Waits(_) | QuestionState::Answered(_)) if !left.is_zero() && !is_given_up() => {}
            Some(over @ (QuestionState::Over(..) | QuestionState::Taken(_))) => return ToolReply::about(desk, mailbox, held.round(), over),
            _ => return Ok(ToolReply::Text(posted(desk, mailbox, held.round())?)),
        }
    }
}

/// Tells the asker what to do now that nobody has answered.
fn posted(desk: &Desk, mailbox: &Mailbox, asked: &RoundId) -> Result<String> {
    let workflow = &asked.workflow;
    let later = match Teller::new(mailbox, desk.context.loaded()).general().first() {
        None => "Once it is answered, an agent is started with your checkpoint and the answer.".to_owned(),
        Some(hold_up) => format!(
            "Nothing is launched now: {}. Once it is answered, check_answer gives you the answer; an agent is started with your checkpoint as soon as \
             that is over.",
            hold_up.words()
        ),
    };
    Ok(format!(
        "QUESTION_POSTED:{workflow}\nNobody has answered yet. Do not wait and do not guess an answer: save your state with save_checkpoint (workflow_id \"{workflow}\"), \
         and end your turn. {later}"
    ))
}

/// Tells the asker that the question in the mailbox is not the one that was asked here.
pub(super) fn changed(workflow: &WorkflowId) -> String {
    format!(
        "The question of {workflow} was changed after you asked it, so the answer that lies there is not yours. Do not use it and do not guess: ask again."
    )
}

/// Rewrites a conflict: its hint names a flag of `ask-post`, which a tool does not have.
fn in_words_of_a_tool(error: Error) -> Error {
    match error {
        Error::Conflict { message, .. } => {
            Error::conflict(message, "wait for its answer (check_answer), or ask with a workflow_id of your own")
        }
        other => other,
    }
}

/// `check_answer`.
pub(super) fn check(desk: &Desk, workflow: &WorkflowId, question: Option<QuestionId>) -> Result<ToolReply> {
    let mailbox = desk.mailbox()?;
    let unknown = || Error::not_found(format!("nothing was asked for {workflow}"), "see the open questions: list_questions");
    let asked = match question {
        Some(question) => RoundId { workflow: workflow.clone(), question },
        None => round::latest(&mailbox, workflow).ok_or_else(unknown)?.id,
    };
    let state = match question_state::find(desk, &mailbox, &asked, false)?.ok_or_else(unknown)? {
        QuestionState::Answered(question) if desk.asked_something_else(&asked, &question) => return Ok(ToolReply::Text(changed(workflow))),
        QuestionState::Answered(question) | QuestionState::OnItsWay(question, _) if desk.has_asked(&asked, &question) => {
            question_state::find(desk, &mailbox, &asked, true)?.ok_or_else(unknown)?
        }
        other => other,
    };
    ToolReply::about(desk, &mailbox, &asked, state)
}
