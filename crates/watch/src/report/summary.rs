//! The numbers at a glance, for monitoring: rounds by state, the age of the oldest question, the state of the queue, and the money
//! spent today.

use std::collections::BTreeMap;

use serde::Serialize;

use askbox_config::Config;
use askbox_mailbox::{Folder, Mailbox, Result, Time, disk, list, presence, quarantined_round, time, timers};
use askbox_run::Standing;
use askbox_run::money::costs;
use askbox_run::story::queue::{self, Queue};
use askbox_run::story::{self};

/// The numbers at a glance.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Summary {
    /// The number of open rounds in each state; every state has an entry.
    pub rounds: BTreeMap<&'static str, u64>,
    /// When the oldest question that waits for a person was asked.
    pub oldest_pending_at: Option<Time>,
    /// How long that question has been waiting, in seconds.
    pub oldest_pending_seconds: Option<u64>,
    /// The state of the launches of answered questions.
    pub queue: Queue,
    /// US dollars spent on this day (UTC).
    pub spent_today_usd: f64,
    /// The limit on the money of a day, `limits.day_cost`; missing if there is none.
    pub day_limit_usd: Option<f64>,
    /// True if a watcher runs on the mailbox.
    pub watched: bool,
}

/// The states of open rounds.
const STATES: [Standing; 12] = [
    Standing::Pending,
    Standing::Waiting,
    Standing::Answered,
    Standing::Queued,
    Standing::Running,
    Standing::Throttled,
    Standing::Retrying,
    Standing::Sent,
    Standing::Orphaned,
    Standing::Interrupted,
    Standing::Parked,
    Standing::Unreadable,
];

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
            add(story::standing_of(mailbox, folder, &round).unwrap_or(Standing::Unreadable), 1);
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
        queue: queue::of(mailbox, config)?,
        spent_today_usd: costs::of_day(mailbox, time::now())?,
        day_limit_usd: (limit > 0.0).then_some(limit),
        watched: presence::anybody(mailbox)?,
    })
}
