//! What a tree of workflows has used: money, and time at work.
//!
//! A tree is at work while at least one of its runs is live: runs at the same time count once, and waiting for an answer does not
//! count. So the time limit of a tree ends all of its runs at the same moment, whenever each began.

use std::time::Duration;

use crate::disk::{self, Lock};
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::mailbox::family::lineage;
use crate::mailbox::listing::list;
use crate::run::attempt::record::{self, Run, State};
use crate::run::money::costs;
use crate::time::{self, Time};

/// A tree of workflows.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The workflow at its top.
    pub root: WorkflowId,
    members: Vec<WorkflowId>,
}

impl Tree {
    /// The tree that `workflow` belongs to. Reads the records of its members.
    pub fn of(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Self> {
        let root = lineage::root(mailbox, workflow)?;
        Ok(Self { members: lineage::members(mailbox, &root)?, root })
    }

    /// US dollars of all its runs that have ended.
    pub fn cost(&self, mailbox: &Mailbox) -> Result<f64> {
        self.members.iter().try_fold(0.0, |sum, member| Ok(sum + costs::of_workflow(mailbox, member)?))
    }

    /// The time that the tree has been at work. No run counts for more than `longest`: a span beyond that is a clock that was set forward.
    pub fn time(&self, mailbox: &Mailbox, longest: Duration) -> Result<Duration> {
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
        Ok(union(spans.into_iter().map(|span| cut(span, longest)).collect()))
    }
}

/// From an attempt's launch to its end. If its supervisor died, to its last event: recovery may have recorded the end days later.
fn span(mailbox: &Mailbox, run: &Run, now: Time) -> Result<Option<(Time, Time)>> {
    let Some(begin) = run.progress.started_at else { return Ok(None) };
    if run.progress.state == State::Running && Lock::is_held(&record::lock_path(mailbox, &run.round()))? {
        return Ok(Some((begin, now)));
    }
    let last_event = disk::metadata(run.folder(mailbox).join("events.jsonl")).and_then(|m| m.modified()).ok().map(Time::from);
    Ok(last_event.into_iter().chain(run.progress.ended_at).min().map(|end| (begin, end)))
}

fn cut((begin, end): (Time, Time), longest: Duration) -> (Time, Time) {
    (begin, end.min(begin.checked_add_signed(chrono::TimeDelta::from_std(longest).unwrap_or_default()).unwrap_or(end)))
}

/// The time that at least one of the spans covers.
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
    fn overlapping_runs_count_once_and_sleep_does_not_count() {
        let at = |s: i64| Time::from_timestamp(1_700_000_000 + s, 0).unwrap();
        let spans = |all: &[(i64, i64)]| union(all.iter().map(|(a, b)| (at(*a), at(*b))).collect()).as_secs();
        assert_eq!(spans(&[]), 0);
        // Two that overlap, a long sleep, then one within another.
        assert_eq!(spans(&[(0, 10), (2, 14), (100_000, 100_005), (100_003, 100_004)]), 19);
        // A span of negative length, because the clock was set back.
        assert_eq!(spans(&[(50, 40), (0, 3)]), 3);
    }

    #[test]
    fn a_clock_that_was_set_forward_during_a_run_counts_as_no_more_than_the_longest_run() {
        let at = |s: i64| Time::from_timestamp(1_700_000_000 + s, 0).unwrap();
        let hour = Duration::from_secs(3600);
        assert_eq!(cut((at(0), at(10)), hour), (at(0), at(10)));
        assert_eq!(cut((at(0), at(315_360_000)), hour), (at(0), at(3600)));
    }
}
