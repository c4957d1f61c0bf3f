//! What a whole tree of workflows has used: money, and time at work.
//!
//! A tree is at work while at least one of its runs is live. Runs at the same time count once, and while everybody sleeps, for
//! an answer that takes days, nothing is counted. So every run of a tree may go on until the same moment, whenever it began.

use std::time::Duration;

use crate::disk::Lock;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::{Mailbox, lineage, list};
use crate::run::attempt::record::{self, Run, State};
use crate::run::money::costs;
use crate::time::{self, Time};

/// The tree that a workflow belongs to: its root, and all that belong to it.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Its first workflow.
    pub root: WorkflowId,
    members: Vec<WorkflowId>,
}

impl Tree {
    /// Of a workflow. Reads every workflow's record.
    pub fn of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Self> {
        let root = lineage::root(mailbox, workflow)?;
        Ok(Self { members: lineage::members(mailbox, &root)?, root })
    }

    /// US dollars of all its runs that ended.
    pub fn cost(&self, mailbox: &Mailbox) -> Result<f64> {
        self.members.iter().try_fold(0.0, |sum, member| Ok(sum + costs::of_workflow(mailbox, member)?))
    }

    /// How long it has been at work.
    pub fn time(&self, mailbox: &Mailbox) -> Result<Duration> {
        let now = time::now();
        let mut spans = Vec::new();
        for member in &self.members {
            for round in list::rounds_of(mailbox, member) {
                for attempt in record::attempts(mailbox, &round)? {
                    match record::read(mailbox, &round, attempt) {
                        Err(e) if e.is_missing_file() => {}
                        other => spans.extend(span(mailbox, &other?, now)?),
                    }
                }
            }
        }
        Ok(union(spans))
    }
}

/// From an attempt's launch to its end. Of one whose supervisor died, only the time to its last event is known: its end was
/// written by whoever found it, perhaps days later.
fn span(mailbox: &Mailbox, run: &Run, now: Time) -> Result<Option<(Time, Time)>> {
    let Some(begin) = run.started_at else { return Ok(None) };
    if run.state == State::Running && Lock::is_held(&record::lock_path(mailbox, &run.round()))? {
        return Ok(Some((begin, now)));
    }
    let heard = run.folder(mailbox).join("events.jsonl").symlink_metadata().and_then(|m| m.modified()).ok().map(Time::from);
    Ok(heard.into_iter().chain(run.ended_at).min().map(|end| (begin, end)))
}

/// The time that is covered by at least one of these.
fn union(mut spans: Vec<(Time, Time)>) -> Duration {
    spans.sort_unstable();
    let (mut sum, mut until) = (Duration::ZERO, Time::MIN_UTC);
    for (begin, end) in spans {
        sum += (end - begin.max(until).min(end)).to_std().unwrap_or_default();
        until = until.max(end);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_at_work_is_counted_once_and_sleep_not_at_all() {
        let at = |s: i64| Time::from_timestamp(1_700_000_000 + s, 0).unwrap();
        let spans = |all: &[(i64, i64)]| union(all.iter().map(|(a, b)| (at(*a), at(*b))).collect()).as_secs();
        assert_eq!(spans(&[]), 0);
        // One waits in its turn for another, which is longer at work; then a long sleep; then two side by side.
        assert_eq!(spans(&[(0, 10), (2, 14), (100_000, 100_005), (100_003, 100_004)]), 19);
        // A clock that was set back.
        assert_eq!(spans(&[(50, 40), (0, 3)]), 3);
    }
}
