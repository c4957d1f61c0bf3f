//! The numbers at a glance, for monitoring: rounds by state, the age of the oldest question, the state of the queue, and the money
//! spent today.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::breaker::shared_file;
use crate::breaker::state_machine::{BreakerPermit, BreakerState, Settings};
use askbox_config::Config;
use askbox_mailbox::disk;
use askbox_mailbox::due::timers;
use askbox_mailbox::error::Result;
use askbox_mailbox::listing::list;
use askbox_mailbox::quarantine::quarantined_round;
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::who::presence;
use askbox_mailbox::{Folder, Mailbox, pause};
use askbox_run::money::costs;
use askbox_run::money::day::DayBudget;
use askbox_run::view::status::{self, Standing};

/// The numbers at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Summary {
    /// The number of open rounds in each state; every state has an entry.
    pub rounds: BTreeMap<&'static str, u64>,
    /// When the oldest question that waits for a person was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending_at: Option<Time>,
    /// How long that question has been waiting, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending_seconds: Option<u64>,
    /// The state of the launches of answered questions.
    pub queue: Queue,
    /// US dollars spent on this day (UTC).
    pub spent_today_usd: f64,
    /// The limit on the money of a day, `limits.day_cost`; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_limit_usd: Option<f64>,
    /// True if a watcher runs on the mailbox.
    pub watched: bool,
}

/// The state of the launches of answered questions.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Queue {
    /// The launches that are possible.
    pub state: QueueState,
    /// The end of the pause, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// The reason why the queue is not open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The kind of reason, for programs. Missing if the queue is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The number of failed runs that the breaker counts.
    pub failures: usize,
}

/// The kind of reason why the queue is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A person holds the queue with `relaunch pause`. `relaunch go` ends that.
    Held,
    /// Runs failed one after the other. `relaunch go` tries one at once.
    Failures,
    /// No runner's program can be started.
    NoProgram,
    /// The day's limit on money is spent.
    DayCost,
    /// Live runs have reserved all that is left of the day's limit.
    DayCostReserved,
}

impl Cause {
    /// True if `relaunch go` lets runs be launched at once.
    #[must_use]
    pub fn ends_with_go(self) -> bool {
        matches!(self, Self::Held | Self::Failures)
    }
}

/// The launches that are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// As many as `relaunch.max_concurrent` allows.
    Open,
    /// None: the operator holds the queue, or the breaker or the day's limit forbids it.
    Paused,
    /// One, to find out if runs succeed again.
    Probing,
}

impl QueueState {
    /// The word for the state in messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Probing => "probing",
        }
    }
}

/// The states of open rounds.
const STATES: [Standing; 11] = [
    Standing::Pending,
    Standing::Waiting,
    Standing::Answered,
    Standing::Queued,
    Standing::Running,
    Standing::Throttled,
    Standing::Retrying,
    Standing::Orphaned,
    Standing::Interrupted,
    Standing::Parked,
    Standing::Unreadable,
];

/// The state of the queue.
pub fn queue(mailbox: &Mailbox, config: &Config) -> Result<Queue> {
    let breaker = shared_file::read(mailbox)?;
    let failures = breaker.failures.len();
    let open = Queue { state: QueueState::Open, until: None, why: None, cause: None, failures };
    let paused = |until, why, cause| Queue { state: QueueState::Paused, until, why: Some(why), cause: Some(cause), ..open.clone() };
    if let Some(how) = pause::held(mailbox) {
        return Ok(paused(None, how, Cause::Held));
    }
    let why = breaker.why().map(str::to_owned).unwrap_or_default();
    let cause = if breaker.waits_for_program() { Cause::NoProgram } else { Cause::Failures };
    Ok(match (breaker.permit(Settings::from_config(&config.relaunch), time::now()), &breaker.state) {
        (BreakerPermit::NotBefore(until), _) => paused(Some(until), why, cause),
        (_, BreakerState::Open { .. } | BreakerState::Probing { .. }) => Queue { state: QueueState::Probing, ..paused(None, why, cause) },
        (_, BreakerState::Closed) => match DayBudget::at(mailbox, config, time::now())? {
            DayBudget::Spent { until, why } => paused(Some(until), why, Cause::DayCost),
            DayBudget::Reserved { why } => paused(None, why, Cause::DayCostReserved),
            DayBudget::Available => open,
        },
    })
}

/// Sums up a mailbox. Reads file names, the records of claimed rounds and the day's costs, but no question.
pub fn sum_up(mailbox: &Mailbox, config: &Config) -> Result<Summary> {
    let mut rounds: BTreeMap<&'static str, u64> = STATES.iter().map(|s| (s.word(), 0)).collect();
    let mut add = |standing: Standing, n: usize| *rounds.entry(standing.word()).or_default() += n as u64;
    let events = timers::waiting_for_events(mailbox)?;
    let (waiting, pending): (Vec<_>, Vec<_>) = list::workflows(mailbox, Folder::Pending)?.into_iter().partition(|w| events.contains(w));
    add(Standing::Waiting, waiting.len());
    add(Standing::Pending, pending.len());
    add(Standing::Answered, list::workflows(mailbox, Folder::Answered)?.len());
    for folder in [Folder::Running, Folder::Parked] {
        for round in list::round_names(mailbox, folder) {
            // If one record cannot be read, the others must be shown all the same.
            add(status::standing_of(mailbox, folder, &round).unwrap_or(Standing::Unreadable), 1);
        }
    }
    add(Standing::Parked, quarantined_round::all(mailbox)?.len());
    let written = |path: std::path::PathBuf| disk::metadata(&path).and_then(|m| m.modified()).ok();
    let oldest = pending.iter().filter_map(|w| written(mailbox.document(Folder::Pending, w))).min();
    let oldest = oldest.map(|at| time::to_the_millisecond(Time::from(at)));
    let limit = config.limits.day_cost;
    Ok(Summary {
        rounds,
        oldest_pending_at: oldest,
        oldest_pending_seconds: oldest.map(|at| time::since(at).as_secs()),
        queue: queue(mailbox, config)?,
        spent_today_usd: costs::of_day(mailbox, time::now())?,
        day_limit_usd: (limit > 0.0).then_some(limit),
        watched: presence::anybody(mailbox)?,
    })
}
