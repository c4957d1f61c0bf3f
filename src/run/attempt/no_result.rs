//! A final text that is no result: the agent ended its turn with a chain signal, which says that it waits, and it waits for nothing.
//! Nobody would ever wake it, and the signal is no reply for its parent. And a result that leaves a person's question unanswered.

use crate::agent::chain_signals;
use crate::disk;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::family::{awaits, children};
use crate::mailbox::{Folder, Mailbox, WorkflowLock, read_question, round};
use crate::run::attempt::record::Run;

/// Why this final text is no result; `None` if it is one, or something is pending behind its signal.
pub(super) fn why(mailbox: &Mailbox, lock: &WorkflowLock, run: &Run, text: &str) -> Result<Option<String>> {
    let Some(signal) = chain_signals::at_the_end(text) else { return Ok(None) };
    if waits(mailbox, lock.workflow(), run)? {
        return Ok(None);
    }
    Ok(Some(format!(
        "it ended its turn with `{signal}`, but it waits for nothing: it has no open question and started no agent that goes on"
    )))
}

/// What the person has to know whose words were no answer: they asked back, and the agent ended without asking again.
pub(super) fn unasked(mailbox: &Mailbox, run: &Run) -> Result<Option<String>> {
    let round = run.round();
    let question = read_question::of_round(&mailbox.round(Folder::Running, &round), &round);
    let asked_back = question.is_ok_and(|document| document.typed.answer.is_some_and(|answer| answer.counter_question().is_some()));
    if !asked_back || waits(mailbox, &run.workflow_id, run)? {
        return Ok(None);
    }
    Ok(Some("the user asked back, and the agent ended without asking its question again: nothing is decided".into()))
}

/// Whether the workflow waits for anything, or did during the attempt. A question that was closed meanwhile is told by its own outcome.
fn waits(mailbox: &Mailbox, workflow: &WorkflowId, run: &Run) -> Result<bool> {
    if [Folder::Pending, Folder::Answered].iter().any(|f| disk::exists(mailbox.document(*f, workflow)))
        || !awaits::children(mailbox, workflow)?.is_empty()
    {
        return Ok(true);
    }
    let asked_since = |round: &round::Round| {
        let question = &round.document.typed;
        round.id.question != run.question_id
            && question.asked_at().or_else(|| question.closed.as_ref().map(|c| c.at)).is_some_and(|at| at >= run.progress.claimed_at)
    };
    if round::of_workflow(mailbox, workflow).iter().any(asked_since) {
        return Ok(true);
    }
    // A question that it asked for another workflow.
    Ok(children::noted(mailbox, workflow).iter().any(|child| round::is_open(mailbox, child)))
}
