//! What may be launched now: the breaker's word, and whether the day's budget has something left.

use std::path::PathBuf;
use std::time::Instant;

use super::Watch;
use super::breaker::{Breaker, Change, Permit, Settings};
use crate::config::Config;
use crate::disk;
use crate::document::Document;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::{Folder, Mailbox, list};
use crate::run::costs;
use crate::run::record::{self, Claimant, Run, State};
use crate::time::{self, Time};

/// The largest `breaker.json`, in bytes.
const MAX_BREAKER: u64 = 4 << 20;

/// What the watcher knows about it.
#[derive(Debug)]
pub(super) struct Gate {
    breaker: Breaker,
    settings: Settings,
    /// When to ask again, where something waits.
    until: Option<Time>,
    /// The day whose budget is known to be used up.
    used_up: Option<Time>,
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("breaker.json")
}

/// The breaker as the last watcher left it; closed where there was none.
pub fn read(mailbox: &Mailbox) -> Result<Breaker> {
    let path = path(mailbox);
    match disk::read(&path, MAX_BREAKER) {
        Err(e) if e.is_missing_file() => Ok(Breaker::default()),
        other => Document::parse(&other?).map(|d| d.typed).map_err(|e| e.in_file(&path)),
    }
}

/// Why and until when the day's budget forbids a launch.
pub fn day_is_used_up(mailbox: &Mailbox, config: &Config, now: Time) -> Result<Option<(Time, String)>> {
    let limit = config.limits.day_cost;
    if limit <= 0.0 {
        return Ok(None);
    }
    let spent = costs::of_day(mailbox, now)?;
    let next = now.date_naive().succ_opt().and_then(|d| d.and_hms_opt(0, 0, 0)).map_or(Time::MAX_UTC, |t| t.and_utc());
    Ok((spent >= limit).then(|| (next, format!("limits.day_cost = {limit} USD is used up ({spent:.2} spent)"))))
}

impl Gate {
    pub(super) fn new(mailbox: &Mailbox, config: &Config) -> Self {
        // One that cannot be read is as good as none: at worst some runs are launched that fail.
        let breaker = read(mailbox).unwrap_or_else(|e| {
            crate::log::error(&e);
            Breaker::default()
        });
        Self { breaker, settings: Settings::of(&config.relaunch), until: None, used_up: None }
    }

    /// Until when nothing is launched, where something waits.
    pub(super) fn until(&self) -> Option<Time> {
        self.until
    }

    /// The same as a moment to wake up at.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until.map(|at| Instant::now() + (at - time::now()).to_std().unwrap_or_default())
    }
}

impl Watch<'_> {
    /// Whether one more run may be launched.
    pub(super) fn may_launch(&mut self) -> bool {
        self.gate.until = None;
        let now = time::now();
        match self.gate.breaker.permit(now) {
            Permit::Any | Permit::One => {}
            Permit::Wait => return false,
            Permit::NotBefore(at) => {
                self.gate.until = Some(at);
                return false;
            }
        }
        match day_is_used_up(&self.mailbox, &self.config, now) {
            Ok(None) => {
                if self.gate.used_up.take().is_some() {
                    self.resumed("another day");
                }
                true
            }
            Ok(Some((until, why))) => {
                self.gate.until = Some(until);
                if self.gate.used_up.replace(until) != Some(until) {
                    self.paused(until, &why);
                }
                false
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

    /// A run was launched.
    pub(super) fn launched(&mut self, run: &Run) {
        if self.gate.breaker.launched(&run.token()) {
            tracing::info!(event = "probing", workflow = %run.workflow_id, "one run, to see whether it goes again");
            self.save();
        }
    }

    /// The run of a round is not live any more.
    pub(super) fn ended(&mut self, round: &RoundId) {
        match record::latest(&self.mailbox, round) {
            Ok(Some(run)) => {
                self.metrics.count(&run);
                self.observe(&run);
            }
            Ok(None) => {}
            Err(e) => crate::log::error(&e),
        }
        self.find_probe();
    }

    fn observe(&mut self, run: &Run) {
        if run.claimant != Claimant::Supervisor {
            return;
        }
        let (token, now) = (run.token(), time::now());
        let at = run.ended_at.unwrap_or(now);
        let before = self.gate.breaker.clone();
        let change = match run.state {
            State::Delivered => self.gate.breaker.delivered(at),
            State::Failed | State::Parked if run.failure.as_ref().is_none_or(|f| f.class.is_everybodys()) => {
                self.gate.breaker.failed(&token, at, self.gate.settings, now)
            }
            // Its supervisor died.
            State::Running => self.gate.breaker.failed(&token, now, self.gate.settings, now),
            _ => {
                self.gate.breaker.ended(&token, now);
                Change::None
            }
        };
        match change {
            Change::None => {}
            Change::Closed => self.resumed("a run was delivered"),
            Change::Opened => {
                let why = self.gate.breaker.why().unwrap_or_default().to_owned();
                if let Permit::NotBefore(until) = self.gate.breaker.permit(now) {
                    self.paused(until, &why);
                }
            }
        }
        if self.gate.breaker != before {
            self.save();
        }
    }

    /// A probe that nobody runs any more: another one may be tried.
    pub(super) fn find_probe(&mut self) {
        let Some(probe) = self.gate.breaker.probe().map(str::to_owned) else { return };
        if self.live.iter().any(|round| probe.starts_with(&format!("{}/{}/", round.workflow, round.question))) {
            return;
        }
        if let Some(run) = self.run_of(&probe) {
            self.observe(&run);
        }
        self.gate.breaker.ended(&probe, time::now());
        self.save();
    }

    fn run_of(&self, token: &str) -> Option<Run> {
        let mut pieces = token.split('/');
        let round = RoundId { workflow: pieces.next()?.parse().ok()?, question: pieces.next()?.parse().ok()? };
        record::read(&self.mailbox, &round, pieces.next()?.parse().ok()?).ok()
    }

    /// What failed while nobody watched.
    pub(super) fn catch_up(&mut self) {
        let rounds = [Folder::Running, Folder::Parked].into_iter().flat_map(|f| list::round_names(&self.mailbox, f));
        let mut runs: Vec<Run> = rounds.filter_map(|round| record::latest(&self.mailbox, &round).ok().flatten()).collect();
        runs.retain(|r| {
            matches!(r.state, State::Failed | State::Parked) && r.ended_at.is_some_and(|at| time::since(at) < self.gate.settings.window)
        });
        runs.sort_by_key(|r| r.ended_at);
        runs.iter().for_each(|run| self.observe(run));
    }

    fn save(&self) {
        let mut breaker = self.gate.breaker.clone();
        breaker.schema_version = crate::document::SCHEMA_VERSION;
        let written = Document::new(breaker).and_then(|d| disk::replace(&path(&self.mailbox), &d.to_bytes()));
        if let Err(e) = written {
            crate::log::error(&e);
        }
    }
}
