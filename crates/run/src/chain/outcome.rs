//! Decides if a workflow has ended, and how. The mailbox's folders decide this, never the agent's text.

use crate::attempt::failure::Class;
use crate::attempt::record::{self, Run, RunState};
use crate::delivery::Delivery;
use crate::view::tail::EventTail;
use askbox_agent::EventKind;
use askbox_mailbox::documents::awaited::End;
use askbox_mailbox::listing::recent_rounds::Recent;
use askbox_mailbox::{
    Await, Closed, Closing, Ended, Folder, Mailbox, Question, Result, RoundId, Time, Untrusted, WorkflowId, awaits, disk, list,
    quarantined_round, read_question, recent_rounds, workflows,
};

/// A final text longer than this, in bytes, is given to the parent as a file.
pub const INLINE_RESULT: usize = 16 << 10;

/// The limit for all final texts in one message together, in bytes. `claude` refuses a prompt of more than 2 MB.
const INLINE_RESULTS: usize = 512 << 10;

/// The state of one workflow, without its children.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnState {
    /// The workflow is not known.
    Unknown,
    /// A run of it is live or will be.
    Working,
    /// A question of it waits for an answer.
    Asking,
    /// A limit of its whole tree is reached. The workflow has not ended: its parent goes on waiting, because it could not be launched
    /// either.
    Held,
    /// Its turn is over, and it waits for these children.
    Waiting(Vec<Await>),
    /// It has ended. The text is complete, whatever its length.
    Ended(Ended),
}

/// The state of a workflow together with the workflows that it awaits.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeState {
    /// Something at or below it works, or will without a person.
    Working,
    /// Its turn is over, and a person must do something at or below it.
    Asking,
    /// It has ended.
    Ended(Ended),
}

/// The state of one workflow, without its children. The caller holds no workflow's lock.
pub fn own_state(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<OwnState> {
    match own_state_without_lock(mailbox, workflow)? {
        // Parents act on these two states, so they must be true. Look again while nothing can move.
        OwnState::Ended(_) | OwnState::Unknown => {
            let _lock = mailbox.lock(workflow)?;
            own_state_without_lock(mailbox, workflow)
        }
        other => Ok(other),
    }
}

/// [`own_state`] for display. It takes no lock, so a workflow that moves during the look may be reported as ended too early.
///
/// It looks into the folders in the order of a round's moves, so that a round that moves during the look is found further on.
pub fn own_state_without_lock(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<OwnState> {
    let waits: Vec<Await> = awaits::of_parent(mailbox, workflow)?.into_iter().map(|d| d.typed).collect();
    let pending = disk::exists(mailbox.document(Folder::Pending, workflow));
    let answered = disk::exists(mailbox.document(Folder::Answered, workflow));
    if answered || claimed_round(mailbox, workflow).is_some() {
        return Ok(OwnState::Working);
    }
    if pending {
        return Ok(OwnState::Asking);
    }
    if let Some(round) = list::round_names(mailbox, Folder::Parked).find(|r| r.workflow == *workflow) {
        let run = record::latest(mailbox, &round)?;
        let class = run.as_ref().and_then(|r| r.failure.as_ref()).map(|f| f.class);
        if class == Some(Class::Tree) && !awaits::of_child(mailbox, workflow)?.is_empty() {
            return Ok(OwnState::Held);
        }
        if class == Some(Class::Turns)
            && let Some(run) = run
        {
            // The text that the agent had written when it was cut off.
            let written = |kind| if let EventKind::Interrupted { text, .. } = kind { Some(text) } else { None };
            let parked = ended(workflow, End::Parked, last_text(mailbox, &run, written).unwrap_or_default());
            return Ok(OwnState::Ended(Ended { cut: true, ..parked }));
        }
        let end = if run.as_ref().is_some_and(|r| r.state == RunState::Interrupted) { End::Interrupted } else { End::Parked };
        return Ok(OwnState::Ended(ended(workflow, end, run.and_then(|r| r.why).unwrap_or_default())));
    }
    if let Some(held) = quarantined_round::of_workflow(mailbox, workflow)? {
        return Ok(OwnState::Ended(ended(workflow, End::Parked, held.why())));
    }
    look_at_closed(mailbox, workflow, waits)
}

/// [`own_state_without_lock`] for a workflow without an open round.
fn look_at_closed(mailbox: &Mailbox, workflow: &WorkflowId, waits: Vec<Await>) -> Result<OwnState> {
    let last = last_closed(mailbox, workflow)?;
    let cancelled = workflows::read(mailbox, workflow)?.and_then(|d| d.typed.cancelled);
    if let Some(at) = cancelled
        && last.as_ref().is_none_or(|(last, _)| last.begun <= at)
    {
        return Ok(OwnState::Ended(ended(workflow, End::Withdrawn, "its whole tree was cancelled".into())));
    }
    let dropped = last.as_ref().is_some_and(|(last, _)| last.closing.state == Closed::Dropped);
    if !waits.is_empty() && !dropped {
        return Ok(OwnState::Waiting(waits));
    }
    let Some((last, run)) = last else { return Ok(OwnState::Unknown) };
    let final_text = || Ok(run.map(|run| final_text(mailbox, &run)).unwrap_or_default());
    last.ended(workflow, final_text).map(OwnState::Ended)
}

pub(super) fn ended(workflow: &WorkflowId, end: End, text: String) -> Ended {
    Ended { workflow_id: workflow.clone(), end, text, file: None, cut: false, perhaps_told: false }
}

/// A closed round that may be the last one of its workflow.
pub(super) struct LastRound {
    begun: Time,
    closing: Closing,
    /// The process or agent that went on with the answer, if the round was delivered.
    delivery: Option<Delivery>,
}

impl LastRound {
    /// The round of this question with its newest attempt. `None` if it is not closed.
    pub(super) fn new(question: &Question, newest: Option<&Run>) -> Option<Self> {
        let closing = question.closed.clone()?;
        let newest = newest.filter(|_| closing.state == Closed::Delivered);
        let delivery = newest.map(|newest| Delivery::of_claimed(question, newest));
        Some(Self { begun: begun(question)?, closing, delivery })
    }

    /// The round with the highest rank is the last one: the one that began last. It need not be the round that closed last, because a
    /// question that was asked during a run may close before the run. An agent that waits for an answer waits within its run, and the
    /// run is what ends. If there is no run, the asker was not an agent.
    pub(super) fn rank(&self) -> (bool, Time) {
        (!matches!(self.delivery, Some(Delivery::Waiter | Delivery::Session)), self.begun)
    }

    /// How the workflow ended whose last round this is, and why. `final_text` reads the agent's final text, for a workflow that finished.
    pub(super) fn ended(self, workflow: &WorkflowId, final_text: impl FnOnce() -> Result<String>) -> Result<Ended> {
        let why = self.closing.why.unwrap_or_default();
        let (end, text) = match (self.closing.state, self.delivery) {
            (Closed::Delivered, Some(taken @ (Delivery::Waiter | Delivery::Session | Delivery::MainAgent | Delivery::Dialog))) => {
                let who = taken.who();
                (End::HandedOver, format!("{who} took the answer and went on by itself; what came of it, askbox does not know"))
            }
            (Closed::Delivered, Some(Delivery::Launch) | None) => (End::Delivered, final_text()?),
            (Closed::Withdrawn | Closed::Superseded, _) => (End::Withdrawn, why),
            (Closed::Expired, _) => (End::Expired, why),
            (Closed::Dropped, _) if why.is_empty() => (End::Dropped, "it was given up".into()),
            (Closed::Dropped, _) => (End::Dropped, why),
        };
        Ok(ended(workflow, end, text))
    }
}

/// The last one of the closed rounds, with its newest attempt.
fn last_closed(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<(LastRound, Option<Run>)>> {
    let Recent { rounds, are_all } = recent_rounds::recent(mailbox, workflow);
    let last = last_among(mailbox, rounds.iter().cloned())?;
    // The list has the rounds that began last. It says nothing of what began before all of these.
    let is_certain = |(is_run, begun)| is_run && began_after(mailbox, &rounds, begun) < recent_rounds::KEPT;
    if are_all || last.as_ref().is_some_and(|(last, _)| is_certain(last.rank())) {
        return Ok(last);
    }
    last_among(mailbox, list::rounds_of(mailbox, workflow))
}

/// How many of these rounds are closed and began after this time.
fn began_after(mailbox: &Mailbox, rounds: &[RoundId], at: Time) -> usize {
    let read = |round: &RoundId| read_question::document(&mailbox.round(Folder::Closed, round)).ok();
    rounds.iter().filter_map(read).filter_map(|document| begun(&document.typed)).filter(|begun| *begun > at).count()
}

/// When a round began. `None` if it is not known, and the round is not closed.
fn begun(question: &Question) -> Option<Time> {
    question.asked_at().or(question.closed.as_ref().map(|closed| closed.at))
}

/// The last one of these rounds that are closed, with its newest attempt.
fn last_among(mailbox: &Mailbox, closed: impl Iterator<Item = RoundId>) -> Result<Option<(LastRound, Option<Run>)>> {
    let mut last: Option<(LastRound, Option<Run>)> = None;
    for round in closed {
        let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, &round)) else { continue };
        let rank = last.as_ref().map(|(last, _)| last.rank());
        // What began earlier is not the last one, whatever its record says.
        if rank > begun(&document.typed).map(|begun| (true, begun)) {
            continue;
        }
        let run = record::latest(mailbox, &round)?;
        let found = LastRound::new(&document.typed, run.as_ref()).filter(|found| rank <= Some(found.rank()));
        last = found.map(|found| (found, run)).or(last);
    }
    Ok(last)
}

/// The agent's final text, from the events, because the run's record has only its beginning.
fn final_text(mailbox: &Mailbox, run: &Run) -> String {
    let result = last_text(mailbox, run, |kind| match kind {
        EventKind::Result { is_error: false, text, .. } => Some(text),
        _ => None,
    });
    result.or_else(|| run.result.clone()).unwrap_or_default()
}

fn last_text(mailbox: &Mailbox, run: &Run, text_of: impl Fn(EventKind) -> Option<Untrusted>) -> Option<String> {
    let mut lines = EventTail::new(run.folder(mailbox).join("events.jsonl"));
    let events = std::iter::from_fn(|| lines.next_event().ok()?);
    events.filter_map(|(_, event)| text_of(event.kind)).last().map(|text| text.raw().to_owned())
}

/// The state of a workflow together with the workflows that it awaits. The caller holds no workflow's lock.
pub fn tree_state(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<TreeState> {
    state_below(mailbox, workflow, &mut Vec::new())
}

fn state_below(mailbox: &Mailbox, workflow: &WorkflowId, seen: &mut Vec<WorkflowId>) -> Result<TreeState> {
    seen.push(workflow.clone());
    let waits = match own_state(mailbox, workflow)? {
        OwnState::Ended(ended) => return Ok(TreeState::Ended(ended)),
        OwnState::Working | OwnState::Unknown => return Ok(TreeState::Working),
        OwnState::Asking | OwnState::Held => return Ok(TreeState::Asking),
        OwnState::Waiting(waits) => waits,
    };
    for wait in waits.iter().filter(|w| w.ended.is_none()) {
        if seen.contains(&wait.child) {
            continue;
        }
        match state_below(mailbox, &wait.child, seen)? {
            TreeState::Asking => return Ok(TreeState::Asking),
            TreeState::Ended(ended) if !is_news(mailbox, wait, &ended)? => return Ok(TreeState::Asking),
            TreeState::Working | TreeState::Ended(_) => {}
        }
    }
    Ok(TreeState::Working)
}

/// True if the parent of this await is to be told that its child ended so. Some ends are not news: the child may go on, and its parent
/// waits for that.
///
/// - The parent's tree was stopped, and the child with it.
/// - The parent was told that this attempt of the child is parked or stopped, and waits on.
pub fn is_news(mailbox: &Mailbox, wait: &Await, ended: &Ended) -> Result<bool> {
    if ended.end == End::Interrupted && wait.patient {
        return Ok(false);
    }
    match &wait.knows {
        Some(known) if ended.end.may_change() => {
            // If the child has left `parked/` since, its end was not its end.
            Ok(record::of_parked(mailbox, &wait.child)?.is_some_and(|parked| parked.id() != *known))
        }
        _ => Ok(true),
    }
}

/// The end as an await keeps it: a text longer than [`INLINE_RESULT`] is written to `runs/WORKFLOW/result.txt` and shortened.
pub fn store_long_text(mailbox: &Mailbox, ended: Ended) -> Result<Ended> {
    store_text_over(mailbox, ended, INLINE_RESULT)
}

/// Several ends for one document and one prompt: together, their texts are at most 512 KiB long.
pub fn store_long_texts(mailbox: &Mailbox, ends: Vec<Ended>) -> Result<Vec<Ended>> {
    let longest = INLINE_RESULT.min(INLINE_RESULTS / ends.len().max(1));
    ends.into_iter().map(|ended| store_text_over(mailbox, ended, longest)).collect()
}

fn store_text_over(mailbox: &Mailbox, mut ended: Ended, longest: usize) -> Result<Ended> {
    if ended.text.len() > longest {
        // A text that was shortened before is in its file already.
        if ended.file.is_none() {
            let folder = mailbox.runs_of_workflow(&ended.workflow_id);
            disk::create_folder(&folder)?;
            let path = folder.join("result.txt");
            disk::replace(&path, ended.text.as_bytes())?;
            ended.file = Some(path);
        }
        ended.text.truncate(ended.text.floor_char_boundary(longest / 8));
    }
    Ok(ended)
}

/// The round of a workflow in `running/`, if there is one.
pub fn claimed_round(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<RoundId> {
    list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow)
}
