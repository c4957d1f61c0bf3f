//! Whether a workflow has ended, and how. The folders say it; nobody's words do.

use std::path::PathBuf;

use crate::agent::events::EventKind;
use crate::disk;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::awaits::{self, Await, End, Ended};
use crate::mailbox::documents::question::Closed;
use crate::mailbox::documents::workflow;
use crate::mailbox::{Folder, Mailbox, Question, intake, list};
use crate::run::claim::record::{self, Claimant, Run, State};
use crate::run::supervise::failure::Class;
use crate::run::view::tail::Lines;
use crate::time::Time;

/// A final text longer than this, in bytes, goes to a parent by file.
pub const INLINE_RESULT: usize = 16 << 10;

/// Where one workflow stands by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Own {
    /// Nothing is known of it.
    Unknown,
    /// A run of it is live or will be.
    Working,
    /// A question of it waits for its answer.
    Asking,
    /// The limit of its whole tree is reached: whoever waits for it goes on waiting, since no run of theirs could be launched.
    Held,
    /// Its turn is over and it waits for these.
    Waiting(Vec<Await>),
    /// It has ended. The text is whole, whatever its length.
    Ended(Ended),
}

/// Where a workflow stands together with all it waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// Something at or below it goes on by itself.
    Working,
    /// Its turn is over, and a human must do something at or below it.
    Asking,
    /// It has ended.
    Ended(Ended),
}

/// Where a workflow stands by itself. The caller holds no workflow's lock.
pub fn own(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Own> {
    match look(mailbox, workflow)? {
        // Rare, and it must be true: nothing moves while we look once more.
        Own::Ended(_) | Own::Unknown => {
            let _lock = mailbox.lock(workflow)?;
            look(mailbox, workflow)
        }
        other => Ok(other),
    }
}

/// How a workflow has ended whose rounds are all closed, without its text. No lock is taken: for those who only look.
pub fn end(mailbox: &Mailbox, workflow: &WorkflowId, closed: &[RoundId]) -> Result<Option<End>> {
    Ok(match over(mailbox, workflow, Vec::new(), closed.iter().cloned())? {
        Stand::Finished(_) => Some(End::Finished),
        Stand::Other(Own::Ended(ended)) => Some(ended.end),
        Stand::Other(_) => None,
    })
}

/// [`own`] for those who only look: no lock is taken, and what moves meanwhile may be told too early.
pub fn look(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Own> {
    Ok(match stand(mailbox, workflow)? {
        Stand::Finished(run) => {
            let text = run.map(|run| final_text(mailbox, &run)).unwrap_or_default();
            Own::Ended(Ended { workflow_id: workflow.clone(), end: End::Finished, text, file: None, perhaps_told: false })
        }
        Stand::Other(own) => own,
    })
}

/// Where it stands; the final text of this run is still to be read.
enum Stand {
    Finished(Option<Box<Run>>),
    Other(Own),
}

/// Looks in the order in which a round moves: what moves meanwhile is found further on.
fn stand(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Stand> {
    let waits: Vec<Await> = awaits::of_parent(mailbox, workflow)?.into_iter().map(|d| d.typed).collect();
    let pending = mailbox.document(Folder::Pending, workflow).exists();
    let answered = mailbox.document(Folder::Answered, workflow).exists();
    if answered || list::round_names(mailbox, Folder::Running).any(|r| r.workflow == *workflow) {
        return Ok(Stand::Other(Own::Working));
    }
    if pending {
        return Ok(Stand::Other(Own::Asking));
    }
    if let Some(round) = list::round_names(mailbox, Folder::Parked).find(|r| r.workflow == *workflow) {
        let run = record::latest(mailbox, &round)?;
        let held = run.as_ref().and_then(|r| r.failure.as_ref()).is_some_and(|f| f.class == Class::Tree);
        if held && !awaits::of_child(mailbox, workflow)?.is_empty() {
            return Ok(Stand::Other(Own::Held));
        }
        let end = if run.as_ref().is_some_and(|r| r.state == State::Interrupted) { End::Stopped } else { End::Parked };
        return Ok(ended(workflow, end, run.and_then(|r| r.why).unwrap_or_default()));
    }
    over(mailbox, workflow, waits, list::rounds_of(mailbox, workflow))
}

/// The same, where no round is open.
fn over(mailbox: &Mailbox, workflow: &WorkflowId, waits: Vec<Await>, closed: impl Iterator<Item = RoundId>) -> Result<Stand> {
    let newest = newest_closed(mailbox, closed)?;
    let cancelled = workflow::read(mailbox, workflow)?.and_then(|d| d.typed.cancelled);
    if let Some(at) = cancelled
        && newest.as_ref().is_none_or(|n| n.begun <= at)
    {
        return Ok(ended(workflow, End::Cancelled, "its whole tree was given up".into()));
    }
    let dropped = newest.as_ref().is_some_and(|n| n.state == Closed::Dropped);
    if !waits.is_empty() && !dropped {
        return Ok(Stand::Other(Own::Waiting(waits)));
    }
    let Some(newest) = newest else { return Ok(Stand::Other(Own::Unknown)) };
    Ok(match (newest.state, newest.run) {
        (Closed::Delivered, run) => Stand::Finished(run.map(Box::new)),
        (Closed::Withdrawn | Closed::Superseded, _) => ended(workflow, End::Cancelled, newest.why),
        (Closed::Expired, _) => ended(workflow, End::Expired, newest.why),
        (Closed::Dropped, _) => ended(workflow, End::Failed, format!("it was given up{}", after_colon(&newest.why))),
    })
}

fn after_colon(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {why}") }
}

fn ended(workflow: &WorkflowId, end: End, text: String) -> Stand {
    Stand::Other(Own::Ended(Ended { workflow_id: workflow.clone(), end, text, file: None, perhaps_told: false }))
}

struct Newest {
    begun: Time,
    state: Closed,
    why: String,
    run: Option<Run>,
}

/// The round that was begun last: a question is asked in the middle of a run, and may be over before it.
fn newest_closed(mailbox: &Mailbox, closed: impl Iterator<Item = RoundId>) -> Result<Option<Newest>> {
    let mut newest: Option<Newest> = None;
    for round in closed {
        let Ok(document) = intake::read_round_file(&mailbox.round(Folder::Closed, &round)) else { continue };
        let Question { closed: Some(closed), .. } = &document.typed else { continue };
        let begun = document.typed.asked_at().unwrap_or(closed.at);
        if newest.as_ref().is_some_and(|n| n.begun > begun) {
            continue;
        }
        let run = record::latest(mailbox, &round)?;
        // Taken over by somebody else, who goes on: no end of a run of ours.
        if closed.state == Closed::Delivered && run.as_ref().is_some_and(|r| r.claimant != Claimant::Supervisor) {
            continue;
        }
        newest = Some(Newest { begun, state: closed.state, why: closed.why.clone().unwrap_or_default(), run });
    }
    Ok(newest)
}

/// The agent's final text: from the events, which hold more of it than the record.
fn final_text(mailbox: &Mailbox, run: &Run) -> String {
    let mut lines = Lines::of(run.folder(mailbox).join("events.jsonl"));
    let mut last = None;
    while let Ok(Some((_, event))) = lines.next_event() {
        if let EventKind::Result { is_error: false, text, .. } = event.kind {
            last = Some(text);
        }
    }
    last.or_else(|| run.result.clone()).unwrap_or_default()
}

/// Where a workflow stands together with all it waits for. The caller holds no workflow's lock.
pub fn view(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<View> {
    below(mailbox, workflow, &mut Vec::new())
}

fn below(mailbox: &Mailbox, workflow: &WorkflowId, seen: &mut Vec<WorkflowId>) -> Result<View> {
    seen.push(workflow.clone());
    let waits = match own(mailbox, workflow)? {
        Own::Ended(ended) => return Ok(View::Ended(ended)),
        Own::Working | Own::Unknown => return Ok(View::Working),
        Own::Asking | Own::Held => return Ok(View::Asking),
        Own::Waiting(waits) => waits,
    };
    for wait in waits.iter().filter(|w| w.ended.is_none()) {
        if seen.contains(&wait.child) {
            continue;
        }
        match below(mailbox, &wait.child, seen)? {
            View::Asking => return Ok(View::Asking),
            View::Ended(ended) if wait.patient && ended.end == End::Stopped => return Ok(View::Asking),
            View::Working | View::Ended(_) => {}
        }
    }
    Ok(View::Working)
}

/// An end as it is kept for a parent: a long text goes to a file beside its run.
pub fn kept(mailbox: &Mailbox, mut ended: Ended) -> Result<Ended> {
    if ended.text.len() > INLINE_RESULT {
        let path = result_path(mailbox, &ended.workflow_id);
        if let Some(folder) = path.parent() {
            disk::create_folder(folder)?;
        }
        disk::replace(&path, ended.text.as_bytes())?;
        ended.text.truncate(ended.text.floor_char_boundary(INLINE_RESULT / 8));
        ended.file = Some(path);
    }
    Ok(ended)
}

fn result_path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.runs_of_workflow(workflow).join("result.txt")
}

/// The rounds of a workflow in `running/`.
#[must_use]
pub fn claimed(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<RoundId> {
    list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow)
}
