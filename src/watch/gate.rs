//! What may be launched now: the breaker's word, and whether the day's budget has something left.

use std::time::{Duration, Instant};

use crate::config::Config;
use crate::disk::Lock;
use crate::id::RoundId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::{Folder, Mailbox, list};
use crate::run::claim::record::{self, Claimant, Run, State};
use crate::run::money::day::DayBudget;
use crate::time::{self, Time};
use crate::watch::Watch;
use crate::watch::breaker::{Breaker, Change, Permit, Settings};
use crate::watch::shared::Shared;

/// When to look again at a probe that another watcher runs.
const PROBE_LOOK: Duration = Duration::from_secs(1);
/// How long a probe may take from its admission to its lock.
const PROBE_GRACE: Duration = Duration::from_secs(10);

/// What the watcher knows about it.
#[derive(Debug)]
pub(super) struct Gate {
    breaker: Shared,
    settings: Settings,
    /// When to ask again, where something waits.
    until: Option<Time>,
    /// When to look again at somebody else's probe.
    look: Option<Instant>,
    /// The day whose budget is known to be used up.
    used_up: Option<Time>,
}

impl Gate {
    pub(super) fn new(mailbox: &Mailbox, config: &Config) -> Self {
        Self { breaker: Shared::of(mailbox), settings: Settings::of(&config.relaunch), until: None, look: None, used_up: None }
    }

    /// Until when nothing is launched, where something waits.
    pub(super) fn until(&self) -> Option<Time> {
        self.until
    }

    /// When to wake up for it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let until = self.until.map(|at| Instant::now() + (at - time::now()).to_std().unwrap_or_default());
        until.into_iter().chain(self.look).min()
    }
}

impl Watch<'_> {
    /// Whether one more run may be launched.
    pub(super) fn may_launch(&mut self) -> bool {
        (self.gate.until, self.gate.look) = (None, None);
        let now = time::now();
        let mut permit = self.gate.breaker.look().permit(now);
        if permit == Permit::Wait {
            permit = self.follow_probe();
        }
        match permit {
            Permit::Any | Permit::One => {}
            Permit::Wait => return false,
            Permit::NotBefore(at) => {
                self.gate.until = Some(at);
                return false;
            }
        }
        match DayBudget::of(&self.mailbox, &self.config, now) {
            Ok(DayBudget::Spent { until, why }) => {
                self.gate.until = Some(until);
                if self.gate.used_up.replace(until) != Some(until) {
                    self.paused(until, &why);
                }
                false
            }
            Ok(budget) => {
                if self.gate.used_up.take().is_some() {
                    self.resumed("another day");
                }
                // If the rest is reserved, the end of a run wakes the watcher.
                budget == DayBudget::Available
            }
            Err(e) => {
                crate::log::error(&e);
                self.gate.until = Some(now + chrono::TimeDelta::seconds(10));
                false
            }
        }
    }

    fn paused(&mut self, until: Time, why: &str) {
        tracing::warn!(event = "paused", until = %time::rfc3339(until), "the queue until {}: {why}", time::rfc3339(until));
        audit::record(&self.mailbox, Entry::about("queue_paused").by("watcher").why(format!("until {}: {why}", time::rfc3339(until))));
    }

    fn resumed(&mut self, why: &str) {
        tracing::info!(event = "resumed", "the queue: {why}");
        audit::record(&self.mailbox, Entry::about("queue_resumed").by("watcher").why(why));
    }

    /// The last word before a run is started: of all watchers, one gets the probe.
    pub(super) fn admit(&mut self, run: &Run) -> bool {
        let token = run.token();
        if self.gate.breaker.look().permit(time::now()) == Permit::Any {
            return true;
        }
        let (admitted, is_probe) = self.gate.breaker.change(|breaker| match breaker.permit(time::now()) {
            Permit::Any => (true, false),
            Permit::One => (true, breaker.launched(&token, time::now())),
            Permit::Wait | Permit::NotBefore(_) => (false, false),
        });
        if is_probe {
            tracing::info!(event = "probing", workflow = %run.workflow_id, "one run, to see whether it goes again");
        }
        admitted
    }

    /// An admitted run could not be started.
    pub(super) fn not_started(&mut self, run: &Run) {
        self.gate.breaker.change(|breaker| breaker.ended(&run.token(), time::now()));
    }

    /// The run of a round is not live any more.
    pub(super) fn ended(&mut self, round: &RoundId) {
        match record::latest(&self.mailbox, round) {
            Ok(Some(run)) => {
                self.metrics.count(&run);
                self.observe(&[run]);
            }
            Ok(None) => {}
            Err(e) => crate::log::error(&e),
        }
        self.find_probe();
    }

    /// How runs ended. Every watcher sees it; who tells the breaker first, tells of the change.
    fn observe(&mut self, runs: &[Run]) {
        let runs: Vec<&Run> = runs.iter().filter(|r| r.claimant == Claimant::Supervisor).collect();
        if runs.is_empty() {
            return;
        }
        let (settings, now) = (self.gate.settings, time::now());
        let (changes, why, permit) = self.gate.breaker.change(|breaker| {
            let changes: Vec<_> = runs.iter().map(|run| seen(breaker, run, settings, now)).collect();
            (changes, breaker.why().unwrap_or_default().to_owned(), breaker.permit(now))
        });
        for change in changes {
            match (change, permit) {
                (Change::Closed, _) => self.resumed("a run was delivered"),
                (Change::Opened, Permit::NotBefore(until)) => self.paused(until, &why),
                _ => {}
            }
        }
    }

    /// Somebody tries a run, and nothing else is launched: its end is waited for, whoever started it.
    fn follow_probe(&mut self) -> Permit {
        self.find_probe();
        let breaker = self.gate.breaker.look();
        let round = breaker.probe().and_then(|(probe, _)| round_of(probe)).map(|(round, _)| round);
        let permit = breaker.permit(time::now());
        if let Some(round) = round
            && !self.live.contains(&round)
        {
            self.recover(&round);
            self.gate.look = Some(Instant::now() + PROBE_LOOK);
        }
        permit
    }

    /// A probe that nobody runs any more: another one may be tried.
    pub(super) fn find_probe(&mut self) {
        let Some((token, tried_at)) = self.gate.breaker.look().probe().map(|(run, at)| (run.to_owned(), at)) else { return };
        let run = round_of(&token).and_then(|(round, attempt)| record::read(&self.mailbox, &round, attempt).ok());
        if let Some(run) = &run {
            // A lock that cannot be looked at may be held.
            if Lock::is_held(&record::lock_path(&self.mailbox, &run.round())).unwrap_or(true) {
                return;
            }
            // About to be started.
            let young = tried_at.is_some_and(|at| time::since(at) < PROBE_GRACE);
            if run.state == State::Claimed && young && self.mailbox.round(Folder::Running, &run.round()).exists() {
                return;
            }
            // Its record may have changed before the lock was let go.
            self.observe(&record::read(&self.mailbox, &run.round(), run.attempt).into_iter().collect::<Vec<_>>());
        }
        self.gate.breaker.change(|breaker| breaker.ended(&token, time::now()));
    }

    /// What failed while nobody watched.
    pub(super) fn catch_up(&mut self) {
        let rounds = [Folder::Running, Folder::Parked].into_iter().flat_map(|f| list::round_names(&self.mailbox, f));
        let mut runs: Vec<Run> = rounds.filter_map(|round| record::latest(&self.mailbox, &round).ok().flatten()).collect();
        runs.retain(|r| {
            matches!(r.state, State::Failed | State::Parked) && r.ended_at.is_some_and(|at| time::since(at) < self.gate.settings.window)
        });
        runs.sort_unstable_by_key(|r| r.ended_at);
        self.observe(&runs);
    }
}

/// Tells the breaker how a run ended.
fn seen(breaker: &mut Breaker, run: &Run, settings: Settings, now: Time) -> Change {
    let (token, at) = (run.token(), run.ended_at.unwrap_or(now));
    match run.state {
        State::Delivered => breaker.delivered(at),
        State::Failed | State::Parked if run.failure.as_ref().is_none_or(|f| f.class.is_everybodys()) => {
            breaker.failed(&token, at, settings, now)
        }
        // Its supervisor died.
        State::Running => breaker.failed(&token, now, settings, now),
        State::Failed | State::Parked | State::Interrupted => {
            breaker.ended(&token, now);
            Change::None
        }
        // The next attempt already.
        State::Claimed => Change::None,
    }
}

/// The round and the attempt that a token names.
fn round_of(token: &str) -> Option<(RoundId, u32)> {
    let mut pieces = token.split('/');
    let round = RoundId { workflow: pieces.next()?.parse().ok()?, question: pieces.next()?.parse().ok()? };
    Some((round, pieces.next()?.parse().ok()?))
}
