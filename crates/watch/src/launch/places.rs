//! The places of `relaunch.max_concurrent`: how many of them are taken by the runs of all watchers and commands together. A place is
//! counted and taken under one lock, `locks/launch`, so that two watchers never take the same free one.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::launch::supervisors::{self, CLAIM_GRACE};
use crate::scope::{Scope, Served};
use askbox_mailbox::{Folder, Lock, Mailbox, Result, RoundId, WorkflowId, awaits, disk, lineage, list, time};
use askbox_run::{Run, RunState, log, record};

/// How soon to look again while another watcher holds the lock, which it does for milliseconds.
const LOOK_AGAIN_FOR_LOCK: Duration = Duration::from_millis(20);
/// How soon to look again while runs of other processes take the places, because not all of their ends wake this watcher.
const LOOK_AGAIN_FOR_PLACE: Duration = Duration::from_secs(1);
/// If a watcher holds the lock for longer than this, a signal has stopped it. The others go on without the lock.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// When this watcher looks for a place again, and since when it has waited for the lock.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(super) look_at: Option<Instant>,
    waits_since: Option<Instant>,
    error_logged: bool,
}

/// The right to take one place. Drop it once the launch is visible on disk.
pub(super) struct Place {
    _lock: Option<Lock>,
}

impl Places {
    /// Reserves one place for a launch. `None` if none is free, or if another watcher is just taking one. `live` are the runs whose end
    /// wakes this watcher. `ready` are those that it has yet to start.
    pub(super) fn reserve(&mut self, served: &Served, live: &HashSet<RoundId>, ready: &VecDeque<Run>) -> Option<Place> {
        self.look_at = None;
        // Usually the runs of this watcher take all places, and their ends wake it.
        if are_taken(served, live) {
            return None;
        }
        let place = self.count_alone(Lock::try_acquire(&served.mailbox.lock_file("launch")))?;
        if are_taken(served, &at_work(served, live, ready)) {
            self.look_at = Some(Instant::now() + LOOK_AGAIN_FOR_PLACE);
            return None;
        }
        Some(place)
    }

    /// Stops looking for a place, because no run waits to be launched.
    pub(super) fn rest(&mut self) {
        self.look_at = None;
    }

    /// The right to count the places and to take one. `None` while another watcher has it. If the lock cannot be had at all, counting
    /// without it is better than never launching.
    fn count_alone(&mut self, lock: Result<Option<Lock>>) -> Option<Place> {
        let lock = match lock {
            Ok(Some(lock)) => {
                (self.waits_since, self.error_logged) = (None, false);
                Some(lock)
            }
            Ok(None) if self.waits_since.get_or_insert_with(Instant::now).elapsed() < LONGEST_HOLD => {
                self.look_at = Some(Instant::now() + LOOK_AGAIN_FOR_LOCK);
                return None;
            }
            Ok(None) => None,
            Err(e) => {
                if !std::mem::replace(&mut self.error_logged, true) {
                    log::error(&e);
                }
                None
            }
        };
        Some(Place { _lock: lock })
    }
}

/// True if these runs take all places. A run that only waits for its child does not count, because otherwise it could keep its child
/// from being recovered.
fn are_taken(served: &Served, runs: &HashSet<RoundId>) -> bool {
    let places = served.config.relaunch.max_concurrent;
    if runs.len() < places {
        return false;
    }
    let waiting = parents_waiting_in_turn(&served.mailbox).unwrap_or_default();
    runs.iter().filter(|round| !waiting.contains(&round.workflow)).count() >= places
}

/// Every run that is live or about to be, except those that this watcher has yet to start.
fn at_work(served: &Served, live: &HashSet<RoundId>, ready: &VecDeque<Run>) -> HashSet<RoundId> {
    let mailbox = &served.mailbox;
    let above = match &served.scope {
        Scope::Mailbox => Vec::new(),
        // The waiting command may have been called in a run. That run must not keep the command's own runs from being launched.
        Scope::Tree(root) => lineage::ancestors(mailbox, root).unwrap_or_default(),
    };
    let yet_to_start: HashSet<RoundId> = ready.iter().map(Run::round).collect();
    let others = list::round_names(mailbox, Folder::Running).filter(|round| !yet_to_start.contains(round));
    let at_work =
        others.filter(|round| live.contains(round) || supervisors::is_supervised(mailbox, round) || is_about_to_start(mailbox, round));
    at_work.filter(|round| !above.contains(&round.workflow)).collect()
}

/// True if a watcher or a command has claimed an attempt of this round a moment ago, and its supervisor is just starting.
fn is_about_to_start(mailbox: &Mailbox, round: &RoundId) -> bool {
    // A new attempt is a new folder below. With this check, the records of rounds that wait for their next attempt need not be read.
    let changed = disk::metadata(mailbox.runs_of(round)).and_then(|m| m.modified()).ok();
    let is_new = changed.is_some_and(|at| time::is_near(at.into(), CLAIM_GRACE));
    is_new
        && record::latest(mailbox, round)
            .ok()
            .flatten()
            .is_some_and(|run| run.state == RunState::Claimed && run.is_launch() && time::is_near(run.claimed_at, CLAIM_GRACE))
}

/// The workflows whose run waits for a child in its own turn.
fn parents_waiting_in_turn(mailbox: &Mailbox) -> Result<HashSet<WorkflowId>> {
    let mut waiting = HashSet::new();
    for parent in awaits::parents(mailbox)? {
        for wait in awaits::of_parent(mailbox, &parent)? {
            if awaits::is_held(mailbox, &parent, &wait.typed.child)? {
                waiting.insert(parent.clone());
            }
        }
    }
    Ok(waiting)
}
