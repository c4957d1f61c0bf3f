//! The numbers at a glance, for monitoring: rounds by state, the age of the oldest question, the state of the queue, and what was spent
//! today.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::Config;
use crate::disk;
use crate::error::Result;
use crate::mailbox::due::timers;
use crate::mailbox::listing::list;
use crate::mailbox::quarantine::quarantined_round;
use crate::mailbox::who::presence;
use crate::mailbox::{Folder, Mailbox, pause};
use crate::run::money::costs;
use crate::run::money::day::DayBudget;
use crate::run::view::status::{self, Standing};
use crate::time::{self, Time};
use crate::watch::breaker::shared_file;
use crate::watch::breaker::state_machine::{Permit, Settings, State};

/// The numbers at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The number of open rounds in each state; every state has an entry.
    pub rounds: BTreeMap<&'static str, u64>,
    /// When the oldest question was asked that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending_at: Option<Time>,
    /// How long that question has been waiting, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending_seconds: Option<u64>,
    /// Whether answered questions are being relaunched.
    pub queue: Queue,
    /// US dollars spent on this day (UTC).
    pub spent_today_usd: f64,
    /// The limit on that, `limits.day_cost`; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_limit_usd: Option<f64>,
    /// A watcher runs on the mailbox.
    pub watched: bool,
}

/// Whether answered questions are being relaunched.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queue {
    /// Whether runs are launched.
    pub state: QueueState,
    /// The end of the pause, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Why the queue is not open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The number of failed runs that the breaker counts.
    pub failures: usize,
}

/// Whether runs are launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// Up to `relaunch.max_concurrent`.
    Open,
    /// None: the operator holds the queue, or the breaker or the day's limit forbids it.
    Paused,
    /// One, to see whether runs succeed again.
    Probing,
}

impl QueueState {
    /// The word for it in messages.
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
    if let Some(how) = pause::held(mailbox) {
        return Ok(Queue { state: QueueState::Paused, until: None, why: Some(how), failures: breaker.failures.len() });
    }
    let why = breaker.why().map(str::to_owned);
    let failures = breaker.failures.len();
    Ok(match (breaker.permit(Settings::of(&config.relaunch), time::now()), &breaker.state) {
        (Permit::NotBefore(until), _) => Queue { state: QueueState::Paused, until: Some(until), why, failures },
        (_, State::Open { .. } | State::Probing { .. }) => Queue { state: QueueState::Probing, until: None, why, failures },
        (_, State::Closed) => match DayBudget::of(mailbox, config, time::now())? {
            DayBudget::Spent { until, why } => Queue { state: QueueState::Paused, until: Some(until), why: Some(why), failures },
            DayBudget::Reserved { why } => Queue { state: QueueState::Paused, until: None, why: Some(why), failures },
            DayBudget::Available => Queue { state: QueueState::Open, until: None, why: None, failures },
        },
    })
}

/// Sums up a mailbox. Reads file names, the records of claimed rounds and the day's costs, but no question.
pub fn of(mailbox: &Mailbox, config: &Config) -> Result<Summary> {
    let mut rounds: BTreeMap<&'static str, u64> = STATES.iter().map(|s| (s.word(), 0)).collect();
    let mut add = |standing: Standing, n: usize| *rounds.entry(standing.word()).or_default() += n as u64;
    let events = timers::waiting_for_events(mailbox)?;
    let (waiting, pending): (Vec<_>, Vec<_>) = list::workflows(mailbox, Folder::Pending)?.into_iter().partition(|w| events.contains(w));
    add(Standing::Waiting, waiting.len());
    add(Standing::Pending, pending.len());
    add(Standing::Answered, list::workflows(mailbox, Folder::Answered)?.len());
    for folder in [Folder::Running, Folder::Parked] {
        for round in list::round_names(mailbox, folder) {
            // One record that cannot be read must not hide all the others.
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
