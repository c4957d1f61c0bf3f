//! Where every workflow stands, read from the folders.

use serde::Serialize;

use crate::agent::events::Tokens;
use crate::disk::Lock;
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, SessionId, WorkflowId};
use crate::mailbox::{Folder, Mailbox, Question, awaits, close, intake, list};
use crate::run::claim::record::{self, Claimant, Run, State};
use crate::run::money::costs;
use crate::run::supervise::failure::Class;
use crate::run::view::live::Live;
use crate::run::view::tail::{Next, RoundEvents};
use crate::time::{self, Time};

/// Kept of the agent's last words, in characters.
const LAST_WORDS: usize = 300;

/// The state of a workflow's newest round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Waits for an answer.
    Pending,
    /// Its time is over and the asker wanted it kept.
    Overdue,
    /// Answered; no watcher has claimed it yet.
    Answered,
    /// Its run is live.
    Running,
    /// A run failed; the next attempt comes.
    Retrying,
    /// The API throttled its run; the session goes on later.
    Throttled,
    /// Claimed; waits for its turn to be launched.
    Queued,
    /// Claimed, but nobody owns it: a watcher recovers it.
    Orphaned,
    /// All attempts failed.
    Parked,
    /// Stopped; goes on where it was.
    Interrupted,
    /// Its turn is over; it waits for what it started.
    Awaiting,
    /// The answer reached the agent.
    Delivered,
    /// Taken back.
    Withdrawn,
    /// Nobody answered in time.
    Expired,
    /// Replaced by another question.
    Superseded,
    /// Given up.
    Dropped,
    /// Its file cannot be read.
    Unreadable,
    /// It is named by others, and none of its rounds is there.
    Unknown,
}

impl Standing {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Overdue => "overdue",
            Self::Answered => "answered",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Throttled => "throttled",
            Self::Queued => "queued",
            Self::Orphaned => "orphaned",
            Self::Parked => "parked",
            Self::Interrupted => "interrupted",
            Self::Awaiting => "awaiting",
            Self::Delivered => "delivered",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Dropped => "dropped",
            Self::Unreadable => "unreadable",
            Self::Unknown => "unknown",
        }
    }
}

/// One workflow.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Which.
    pub workflow_id: WorkflowId,
    /// Where it stands.
    pub state: Standing,
    /// Its newest round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<QuestionId>,
    /// The question's first words.
    pub question: String,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// Since when it stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The attempt, where there is a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The session, where there is a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// When the next attempt may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    /// Why it stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What kind of failure that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Class>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
    /// US dollars of its newest round, all attempts, as far as they ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The agent's final text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What the run does right now and what it took so far, from its events: where it is live, or asked for by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<View>,
}

/// What a run does and what it took so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct View {
    /// `starting`, `thinking`, `tool`, `throttled`, `silent`, `asking`, `finished`, `interrupted` or `parked`.
    pub doing: &'static str,
    /// The same for people, with its details: `tool:Bash (12s)`.
    pub words: String,
    /// The tool in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// API round trips of all finished turns.
    pub turns: u64,
    /// Tokens of all finished turns.
    pub tokens: Tokens,
    /// US dollars of all finished turns.
    pub cost_usd: f64,
    /// What the agent said last, its head.
    pub last_words: String,
}

impl View {
    /// The state of affairs at that moment.
    #[must_use]
    pub fn of(live: &Live, now: Time) -> Self {
        Self {
            doing: live.state().word(),
            words: live.state().at(now).to_string(),
            tool: live.tool().map(str::to_owned),
            turns: live.turns(),
            tokens: live.tokens(),
            cost_usd: live.cost_usd(),
            last_words: crate::text::excerpt(live.last_words(), LAST_WORDS),
        }
    }
}

/// Reads a round's events, as far as they are there, over all attempts.
fn view(mailbox: &Mailbox, round: &RoundId) -> Result<View> {
    let (mut events, mut live) = (RoundEvents::of(mailbox, round.clone(), false), Live::default());
    loop {
        match events.read()? {
            Next::Event(_, event) => live.apply(&event),
            Next::Attempt(_) => live.new_attempt(),
            Next::Nothing => return Ok(View::of(&live, time::now())),
        }
    }
}

/// Every workflow that is not over: one status each, the newest round's.
pub fn open(mailbox: &Mailbox) -> Result<Vec<Status>> {
    let mut out = std::collections::BTreeMap::new();
    for folder in [Folder::Parked, Folder::Running] {
        for round in list::round_names(mailbox, folder) {
            let status = intake::read_round_file(&mailbox.round(folder, &round)).and_then(|d| of_round(mailbox, folder, &round, &d.typed));
            out.extend(shown(&round.workflow, status));
        }
    }
    for folder in [Folder::Answered, Folder::Pending] {
        for workflow in list::workflows(mailbox, folder)? {
            // A live run that has asked the next question is still at work.
            if out.get(&workflow).is_some_and(|s: &Status| s.state == Standing::Running) {
                continue;
            }
            let status = intake::read_round_file(&mailbox.document(folder, &workflow)).and_then(|document| {
                let round = intake::round_of(mailbox, &document.typed)?;
                of_round(mailbox, folder, &round, &document.typed)
            });
            out.extend(shown(&workflow, status));
        }
    }
    for parent in awaits::parents(mailbox)? {
        if !out.contains_key(&parent)
            && let Ok(status) = of(mailbox, &parent)
        {
            out.insert(parent, status);
        }
    }
    Ok(out.into_values().collect())
}

/// One bad file is shown as such and hides nothing else; one that has just moved on is passed over.
fn shown(workflow: &WorkflowId, status: Result<Status>) -> Option<(WorkflowId, Status)> {
    match status {
        Ok(status) => Some((workflow.clone(), status)),
        Err(e) if e.is_missing_file() => None,
        Err(e) => Some((workflow.clone(), unreadable(workflow, &e))),
    }
}

/// One workflow, open or over, with what its run did.
pub fn of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Status> {
    let mut status = standing(mailbox, workflow)?;
    if let (None, Some(_), Some(question)) = (&status.live, status.attempt, status.question_id) {
        let round = RoundId { workflow: workflow.clone(), question };
        status.live = view(mailbox, &round).ok();
    }
    Ok(status)
}

/// The same, shown also where nothing can be read, and without what a run did that is over: for those who look at many.
#[must_use]
pub fn at_a_glance(mailbox: &Mailbox, workflow: &WorkflowId) -> Status {
    standing(mailbox, workflow).unwrap_or_else(|e| unreadable(workflow, &e))
}

/// [`at_a_glance`] for a workflow whose rounds are all closed: these.
#[must_use]
pub fn of_closed(mailbox: &Mailbox, workflow: &WorkflowId, rounds: &[RoundId]) -> Status {
    let read = |round: &RoundId| Some((intake::read_round_file(&mailbox.round(Folder::Closed, round)).ok()?.typed, round.clone()));
    let newest = rounds.iter().filter_map(read).max_by_key(|(q, round)| (q.closed.as_ref().map(|c| c.at), round.clone()));
    match newest {
        Some((question, round)) => of_round(mailbox, Folder::Closed, &round, &question).unwrap_or_else(|e| unreadable(workflow, &e)),
        None => Status { state: Standing::Unknown, ..blank(workflow) },
    }
}

fn unreadable(workflow: &WorkflowId, error: &Error) -> Status {
    let (state, why) = match error {
        e if e.is_missing_file() || matches!(e, Error::NotFound { .. }) => (Standing::Unknown, None),
        e => (Standing::Unreadable, Some(e.to_string())),
    };
    Status { state, why, ..blank(workflow) }
}

fn standing(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Status> {
    // Before the rounds: what ends a wait makes a round first.
    let waits = awaits::of_parent(mailbox, workflow)?;
    let found = close::latest_round(mailbox, workflow).ok_or_else(|| unknown(workflow))?;
    let running = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow);
    if let Some(round) = running
        && matches!(found.folder, Folder::Pending | Folder::Answered)
        && Lock::is_held(&record::lock_path(mailbox, &round))?
    {
        let document = intake::read_round_file(&mailbox.round(Folder::Running, &round))?;
        return of_round(mailbox, Folder::Running, &round, &document.typed);
    }
    let status = of_round(mailbox, found.folder, &found.round, &found.document.typed)?;
    if status.state != Standing::Delivered || waits.is_empty() {
        return Ok(status);
    }
    let whom: Vec<_> = waits.iter().map(|w| w.typed.child.as_str()).collect();
    // What it said when it ended its turn is no result.
    Ok(Status { state: Standing::Awaiting, why: Some(format!("waits for {}", whom.join(", "))), result: None, ..status })
}

/// There is no such workflow, or none any more.
#[must_use]
pub fn unknown(workflow: &WorkflowId) -> Error {
    Error::not_found(
        format!("nothing is known of {workflow}"),
        "see what is: relaunch status; what had been over for longer than history.keep, `askbox gc` may have pruned",
    )
}

fn blank(workflow: &WorkflowId) -> Status {
    Status {
        workflow_id: workflow.clone(),
        state: Standing::Pending,
        question_id: None,
        question: String::new(),
        asked_by: None,
        since: None,
        attempt: None,
        session_id: None,
        retry_at: None,
        why: None,
        failure: None,
        todo: None,
        cost_usd: None,
        result: None,
        live: None,
    }
}

/// One round, whose document is at hand.
pub fn of_round(mailbox: &Mailbox, folder: Folder, round: &RoundId, question: &Question) -> Result<Status> {
    let run = match folder {
        Folder::Pending | Folder::Answered => None,
        _ => record::latest(mailbox, round)?,
    };
    let answered_at = question.answer.as_ref().and_then(|a| a.at);
    let (state, since) = match folder {
        Folder::Pending if question.expires_at.is_some_and(|at| at < time::now()) => (Standing::Overdue, question.expires_at),
        Folder::Pending => (Standing::Pending, question.asked_at()),
        Folder::Answered => (Standing::Answered, answered_at),
        Folder::Closed => closed(question),
        Folder::Parked => (
            if run.as_ref().is_some_and(|r| r.state == State::Interrupted) { Standing::Interrupted } else { Standing::Parked },
            run.as_ref().and_then(|r| r.ended_at),
        ),
        _ => running(mailbox, round, run.as_ref())?,
    };
    let live = match (&run, state) {
        (Some(_), Standing::Running) => view(mailbox, round).ok(),
        _ => None,
    };
    Ok(Status {
        state,
        live,
        question_id: Some(round.question),
        question: question.title(),
        asked_by: question.asked_by.clone(),
        since,
        attempt: run.as_ref().map(|r| r.attempt),
        session_id: run.as_ref().map(|r| r.session_id),
        retry_at: run.as_ref().and_then(|r| r.retry_at),
        why: run.as_ref().and_then(|r| r.why.clone()).or_else(|| question.closed.as_ref().and_then(|c| c.why.clone())),
        failure: run.as_ref().and_then(|r| r.failure.as_ref()).map(|f| f.class),
        todo: run.as_ref().and_then(|r| r.failure.as_ref()).map(|f| f.todo.clone()).filter(|t| !t.is_empty()),
        cost_usd: match &run {
            Some(_) => costs::of_round(mailbox, round)?.filter(|c| *c > 0.0),
            None => None,
        },
        result: run.and_then(|r| r.result),
        ..blank(&round.workflow)
    })
}

/// Where a claimed round stands, without a look at its document.
pub fn standing_of(mailbox: &Mailbox, folder: Folder, round: &RoundId) -> Result<Standing> {
    let run = record::latest(mailbox, round)?;
    Ok(match (folder, run) {
        (Folder::Parked, Some(run)) if run.state == State::Interrupted => Standing::Interrupted,
        (Folder::Parked, _) => Standing::Parked,
        (_, run) => running(mailbox, round, run.as_ref())?.0,
    })
}

fn closed(question: &Question) -> (Standing, Option<Time>) {
    use crate::mailbox::documents::question::Closed;
    let Some(closing) = &question.closed else { return (Standing::Delivered, None) };
    let state = match closing.state {
        Closed::Delivered => Standing::Delivered,
        Closed::Withdrawn => Standing::Withdrawn,
        Closed::Expired => Standing::Expired,
        Closed::Superseded => Standing::Superseded,
        Closed::Dropped => Standing::Dropped,
    };
    (state, Some(closing.at))
}

fn running(mailbox: &Mailbox, round: &RoundId, run: Option<&Run>) -> Result<(Standing, Option<Time>)> {
    if Lock::is_held(&record::lock_path(mailbox, round))? {
        return Ok((Standing::Running, run.and_then(|r| r.started_at.or(Some(r.claimed_at)))));
    }
    Ok(match run {
        Some(run) if run.state == State::Failed && run.is_throttled() => (Standing::Throttled, run.ended_at),
        Some(run) if run.state == State::Failed => (Standing::Retrying, run.ended_at),
        Some(run) if run.state == State::Claimed && run.claimant == Claimant::Supervisor && run.attempt > 1 => {
            (Standing::Queued, Some(run.claimed_at))
        }
        Some(run) => (Standing::Orphaned, Some(run.claimed_at)),
        // Its claimer has the workflow's lock until it has the round's.
        None if mailbox.is_locked(&round.workflow)? || Lock::is_held(&record::lock_path(mailbox, round))? => (Standing::Running, None),
        None => (Standing::Orphaned, None),
    })
}
