//! The places of `relaunch.max_concurrent`: how many of them are taken, whichever watcher or command launched the run. A place is counted
//! and taken under one lock, `locks/launch`, so that two watchers never take the same free one.

use std::collections::HashSet;

use crate::disk::{self, Lock};
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::log;
use crate::mailbox::family::{awaits, lineage};
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::record::{self, Run, State};
use crate::run::supervise::detach;
use crate::time;
use crate::watch::launch::places::Place;
use crate::watch::launch::unsupervised::CLAIM_GRACE;
use crate::watch::scope::Scope;
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Reserves one place for a launch. `None` if none is free, or if another watcher is just taking one.
    pub(super) fn reserve_place(&mut self) -> Option<Place> {
        self.places.look_at = None;
        // Mostly all of them are taken by runs of this watcher, whose ends wake it.
        if self.are_taken(self.live.clone()) {
            return None;
        }
        let place = self.places.count_alone(Lock::try_acquire(&self.mailbox.lock_file("launch")))?;
        let at_work = self.at_work();
        if self.are_taken(at_work) {
            self.places.look_again();
            return None;
        }
        Some(place)
    }

    /// A supervisor was started for an attempt that was put on record a while ago. Until it holds the round's lock, other watchers would
    /// not count it.
    pub(super) fn show(&self, run: &Run) {
        if !time::is_near(run.progress.claimed_at, CLAIM_GRACE)
            && let Err(e) = detach::wait_until_owned(&self.mailbox, run)
        {
            log::error(&e);
        }
    }

    /// Whether these runs take all places. A run that only waits for its child does not count: otherwise it could keep its child from
    /// being recovered.
    fn are_taken(&self, runs: HashSet<RoundId>) -> bool {
        let places = self.config.relaunch.max_concurrent;
        if runs.len() < places {
            return false;
        }
        let waiting = parents_waiting_in_turn(&self.mailbox).unwrap_or_default();
        runs.iter().filter(|round| !waiting.contains(&round.workflow)).count() >= places
    }

    /// Every run that is live or about to be, but for those that this watcher has yet to start.
    fn at_work(&self) -> HashSet<RoundId> {
        let above = match &self.scope {
            Scope::Mailbox => Vec::new(),
            // The run in which the waiting command was called must not keep the command's own runs from being launched.
            Scope::Tree(root) => lineage::ancestors(&self.mailbox, root).unwrap_or_default(),
        };
        let yet_to_start: HashSet<RoundId> = self.ready.iter().map(Run::round).collect();
        let others = list::round_names(&self.mailbox, Folder::Running).filter(|round| !yet_to_start.contains(round));
        let at_work = others.filter(|round| self.live.contains(round) || self.is_live(round) || is_about_to_start(&self.mailbox, round));
        at_work.filter(|round| !above.contains(&round.workflow)).collect()
    }
}

/// Whether a watcher or a command has claimed an attempt of this round a moment ago, and its supervisor is just starting.
fn is_about_to_start(mailbox: &Mailbox, round: &RoundId) -> bool {
    // A new attempt is a new folder below. This spares reading the records of all rounds that wait for their next attempt.
    let changed = disk::metadata(mailbox.runs_of(round)).and_then(|m| m.modified()).ok();
    let is_new = changed.is_some_and(|at| time::is_near(at.into(), CLAIM_GRACE));
    is_new
        && record::latest(mailbox, round).ok().flatten().is_some_and(|run| {
            run.progress.state == State::Claimed && run.is_launch() && time::is_near(run.progress.claimed_at, CLAIM_GRACE)
        })
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
