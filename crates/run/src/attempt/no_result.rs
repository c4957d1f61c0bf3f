//! Final texts that are not a result. The agent ended its turn with a chain signal, which says that it waits. If nothing
//! is pending, no event would ever wake it, and the signal is not a reply for its parent.
//!
//! An agent may also wait for a child that it was told of before: the child is parked or stopped, and goes on once a person has mended
//! it. Such a child has no await any more, so it gets a new one here.
//!
//! This file also finds a result that leaves a person's question unanswered.

use crate::attempt::record::{self, Run};
use askbox_agent::chain_signals::{self, Signal};
use askbox_mailbox::{
    Closed, Folder, Mailbox, Question, Result, WorkflowId, WorkflowLock, awaits, children, disk, read_question, recent_rounds, round,
    workflows,
};

/// Why this final text is not a result; `None` if it is one, or if something is pending behind its signal. If the workflow waits for a
/// child again, its await is written here. The caller holds the workflow's lock until the round has left `running/`.
pub(super) fn why(mailbox: &Mailbox, lock: &WorkflowLock, run: &Run, text: &str) -> Result<Option<String>> {
    let Some(signal) = chain_signals::at_the_end(text) else {
        if let Some(child) = chain_signals::of_unfinished_child(text) {
            wait_for(mailbox, lock, |open| *open == child)?;
        }
        return Ok(None);
    };
    if is_pending(mailbox, lock, run)? || wait_on(mailbox, lock, signal)? || has_lent_its_session(mailbox, lock)? {
        return Ok(None);
    }
    Ok(Some(format!(
        "it ended its turn with `{signal}`, but it waits for nothing: it has no open question and started no agent that goes on"
    )))
}

/// A warning for the person who asked back: the agent ended without asking again.
pub(super) fn unasked(mailbox: &Mailbox, lock: &WorkflowLock, run: &Run) -> Result<Option<String>> {
    let round = run.round();
    let question = read_question::of_round(&mailbox.round(Folder::Running, &round), &round);
    let asked_back = question.is_ok_and(|document| document.typed.answer.is_some_and(|answer| answer.counter_question().is_some()));
    if !asked_back || is_pending(mailbox, lock, run)? || has_lent_its_session(mailbox, lock)? {
        return Ok(None);
    }
    Ok(Some("the user asked back, and the agent ended without asking its question again: nothing is decided".into()))
}

/// True if the workflow waits for anything, or did during the attempt. A question that was closed during the attempt counts: its own
/// outcome is reported.
pub(super) fn is_pending(mailbox: &Mailbox, lock: &WorkflowLock, run: &Run) -> Result<bool> {
    waits(mailbox, lock, run, |_| true)
}

/// [`is_pending`], but a question does not count if its asker took the answer during the attempt (`ask-post --wait`): no person is awaited
/// for it any more.
pub(super) fn awaits_person(mailbox: &Mailbox, lock: &WorkflowLock, run: &Run) -> Result<bool> {
    waits(mailbox, lock, run, |question| question.closed.as_ref().is_none_or(|closing| closing.state != Closed::Delivered))
}

fn waits(mailbox: &Mailbox, lock: &WorkflowLock, run: &Run, counts: impl Fn(&Question) -> bool) -> Result<bool> {
    let workflow = lock.workflow();
    if [Folder::Pending, Folder::Answered].iter().any(|f| disk::exists(mailbox.document(*f, workflow)))
        || !awaits::children(mailbox, workflow)?.is_empty()
    {
        return Ok(true);
    }
    let asked_since = |round: &round::Round| {
        let question = &round.document.typed;
        round.id.question != run.question_id
            && counts(question)
            && question.asked_at().or_else(|| question.closed.as_ref().map(|c| c.at)).is_some_and(|at| at >= run.claimed_at)
    };
    let closed = recent_rounds::recent(mailbox, workflow).rounds;
    Ok(round::open_of_workflow(mailbox, workflow).iter().any(asked_since)
        || closed.iter().filter_map(|round| round::in_closed(mailbox, round)).any(|round| asked_since(&round)))
}

/// Writes awaits for the children that the workflow started and that have not ended: for the one that the signal names, otherwise for
/// all. The workflow was told of them before, so without an await nothing would wake it. Returns false if there is no such child.
fn wait_on(mailbox: &Mailbox, lock: &WorkflowLock, signal: &str) -> Result<bool> {
    let named = match Signal::of_line(signal) {
        Some(Signal::PendStarted(named)) => Some(named),
        Some(Signal::PendOngoing) => None,
        // `SGN_UNHANDLED` says that the agent does not know what to do, and `SGN_RESUME` is a request.
        Some(Signal::Resume) => return Ok(false),
        None if signal == chain_signals::UNHANDLED => return Ok(false),
        None => None,
    };
    if let Some(named) = named
        && wait_for(mailbox, lock, |open| *open == named)?
    {
        return Ok(true);
    }
    wait_for(mailbox, lock, |_| true)
}

/// Writes awaits for these of the children that the workflow started and that have not ended. Returns false if there is none.
fn wait_for(mailbox: &Mailbox, lock: &WorkflowLock, counts: impl Fn(&WorkflowId) -> bool) -> Result<bool> {
    let mut waits = false;
    for child in children::noted(mailbox, lock.workflow()).into_iter().filter(counts) {
        if is_started_by(mailbox, &child, lock.workflow())? && round::is_open(mailbox, &child) {
            awaits::create_again(mailbox, lock, &child, record::of_parked(mailbox, &child)?.map(|run| run.id()))?;
            waits = true;
        }
    }
    Ok(waits)
}

/// True if the workflow began as a task of this parent.
fn is_started_by(mailbox: &Mailbox, child: &WorkflowId, parent: &WorkflowId) -> Result<bool> {
    let is_child = workflows::read(mailbox, child)?.is_some_and(|known| known.typed.parent.as_ref() == Some(parent));
    Ok(is_child && round::first_task(mailbox, child).is_some())
}

/// True if a question is open that the agent asked for another workflow. The answer is given to a fork of this session.
fn has_lent_its_session(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<bool> {
    for child in children::noted(mailbox, lock.workflow()) {
        if round::is_open(mailbox, &child) && !is_started_by(mailbox, &child, lock.workflow())? {
            return Ok(true);
        }
    }
    Ok(false)
}
