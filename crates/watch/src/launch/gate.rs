//! Decides if another run may be launched now, from the breaker and the day's budget together.

use std::time::{Duration, Instant};

use askbox_config::{Config, Runner};
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::{AttemptId, Error, Folder, Lock, Mailbox, Result, RoundId, Time, disk, list, pause, time};
use askbox_run::attempt::failure::Class;
use askbox_run::breaker::shared_file::SharedBreaker;
use askbox_run::breaker::state_machine::{Breaker, BreakerPermit, Change, Settings};
use askbox_run::money::day::DayBudget;
use askbox_run::{Run, RunState, log, programs, record};

/// How often to read the configuration again while the limit of the day, or an agent program that cannot be started, holds the queue.
const READ_CONFIG_EVERY: Duration = Duration::from_secs(3);
/// How often to look at a probe that another watcher runs, and at the operator's hold on the queue.
const RECHECK_EVERY: Duration = Duration::from_secs(1);
/// A probe's supervisor must hold the run lock this long after the probe was admitted.
const PROBE_START_LIMIT: Duration = Duration::from_secs(10);
/// The pause before a budget that could not be read is read again.
const RETRY_AFTER: chrono::TimeDelta = chrono::TimeDelta::seconds(10);

/// The launches that are possible now.
pub(crate) enum LaunchVerdict {
    /// One more run.
    Launch,
    /// Nothing before [`Gate::deadline`], or before a run ends.
    Wait,
    /// Nothing before the probe has ended. The probe is the run of this round.
    WaitForProbe(RoundId),
}

pub(crate) struct Gate {
    mailbox: Mailbox,
    config: Config,
    breaker: SharedBreaker,
    settings: Settings,
    /// The queue is paused until this time.
    pub(crate) until: Option<Time>,
    /// When to look again at another watcher's probe, or at the operator's hold on the queue.
    recheck_at: Option<Instant>,
    /// True if the operator holds the queue, and that was reported.
    is_held: bool,
    /// The end of the day whose budget is spent, once that was reported.
    spent_until: Option<Time>,
    /// The runners that supervisors will start, as far as this watcher knows. Empty if the configuration names none.
    runners: Vec<Runner>,
}

impl Gate {
    pub(crate) fn new(mailbox: &Mailbox, config: &Config) -> Self {
        Self {
            mailbox: mailbox.clone(),
            config: config.clone(),
            breaker: SharedBreaker::of_mailbox(mailbox),
            settings: Settings::from_config(&config.relaunch),
            until: None,
            recheck_at: None,
            is_held: false,
            spent_until: None,
            runners: in_use(config).unwrap_or_default(),
        }
    }

    /// Reports a pause that began before this watcher. A later one is reported when it begins.
    pub(crate) fn report_pause(&mut self) {
        self.report_hold();
        let now = time::now();
        let breaker = self.breaker.read();
        match (breaker.permit(self.settings, now), breaker.why()) {
            (BreakerPermit::NotBefore(at), Some(why)) => {
                let until = time::rfc3339(at);
                tracing::warn!(event = "paused", %until, "the queue until {until}: {why}");
            }
            _ => drop(self.check_budget(now)),
        }
        self.rest();
    }

    /// Reports that the operator holds the queue, or no longer does. Returns true if so.
    fn report_hold(&mut self) -> bool {
        let held = pause::held(&self.mailbox);
        if held.is_some() != self.is_held {
            match &held {
                Some(how) => tracing::warn!(event = "paused", "the queue is {how}; nothing is launched until: relaunch go"),
                None => tracing::info!(event = "resumed", "the queue: relaunch go"),
            }
            self.is_held = held.is_some();
        }
        self.is_held
    }

    /// When to call [`Self::check`] again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let until = self.until.map(|at| Instant::now() + (at - time::now()).to_std().unwrap_or_default());
        until.into_iter().chain(self.recheck_at).min()
    }

    /// Decides if one more run may be launched.
    pub(crate) fn check(&mut self) -> LaunchVerdict {
        (self.until, self.recheck_at) = (None, None);
        if self.report_hold() {
            self.recheck_at = Some(Instant::now() + RECHECK_EVERY);
            return LaunchVerdict::Wait;
        }
        let now = time::now();
        if self.breaker.read().permit(self.settings, now) == BreakerPermit::Wait {
            self.end_dead_probe();
        }
        // One reading gives both, because another watcher may change the file in between.
        let breaker = self.breaker.read();
        let (permit, probe) =
            (breaker.permit(self.settings, time::now()), breaker.probe().and_then(|(token, _)| token.parse::<AttemptId>().ok()));
        match permit {
            BreakerPermit::Any | BreakerPermit::One => match self.cannot_start() {
                Some(why) => self.wait_for_program(&why, now),
                None => {
                    if self.breaker.read().waits_for_program() && self.breaker.change(Breaker::can_start) == Change::Closed {
                        self.report_resumed("the agent program can be started");
                    }
                    self.check_budget(now)
                }
            },
            BreakerPermit::NotBefore(at) => {
                self.until = Some(at);
                // `relaunch go` ends the pause.
                self.recheck_at = Some(Instant::now() + RECHECK_EVERY);
                LaunchVerdict::Wait
            }
            BreakerPermit::Wait => probe.map_or(LaunchVerdict::Wait, |run| LaunchVerdict::WaitForProbe(run.round)),
        }
    }

    /// The reason why the system cannot start the program of any runner, so that every run would be parked; `None` if it can start one.
    fn cannot_start(&mut self) -> Option<String> {
        // The error of the default runner.
        let fails = |runners: &[Runner]| {
            let errors: Option<Vec<Error>> = runners.iter().map(|runner| programs::of_runner(runner).err()).collect();
            errors.and_then(|errors| errors.into_iter().next())
        };
        fails(&self.runners)?;
        // Each supervisor reads the configuration again, so another program may have been named in it since.
        self.read_runners();
        let error = fails(&self.runners)?;
        Some(format!("no agent can be started: {error}; {}", error.hint()))
    }

    fn read_runners(&mut self) {
        if let Ok(runners) = askbox_config::load().and_then(|loaded| in_use(&loaded.config)) {
            self.runners = runners;
        }
    }

    fn wait_for_program(&mut self, why: &str, now: Time) -> LaunchVerdict {
        let until = now + READ_CONFIG_EVERY;
        if self.breaker.change(|breaker| breaker.cannot_start(why, until, now)) == Change::Opened {
            tracing::warn!(event = "paused", "the queue: {why}");
            audit::record(&self.mailbox, Entry::about("queue_paused").by("watcher").why("the agent program cannot be started"));
        }
        self.until = Some(until);
        LaunchVerdict::Wait
    }

    /// The budget of the day. Each supervisor reads the configuration again, so a limit that holds the queue is read again, too: the operator
    /// may have raised it since.
    fn budget(&mut self, now: Time) -> Result<DayBudget> {
        match DayBudget::at(&self.mailbox, &self.config, now)? {
            DayBudget::Available => Ok(DayBudget::Available),
            held => {
                let limit = self.config.limits.day_cost;
                if let Ok(loaded) = askbox_config::load() {
                    self.config.limits.day_cost = loaded.config.limits.day_cost;
                }
                if self.config.limits.day_cost == limit { Ok(held) } else { DayBudget::at(&self.mailbox, &self.config, now) }
            }
        }
    }

    fn check_budget(&mut self, now: Time) -> LaunchVerdict {
        match self.budget(now) {
            Ok(DayBudget::Spent { until, why }) => {
                self.until = Some(until);
                self.recheck_at = Some(Instant::now() + READ_CONFIG_EVERY);
                if self.spent_until.replace(until) != Some(until) {
                    self.report_paused(until, &why);
                }
                LaunchVerdict::Wait
            }
            Ok(budget) => {
                if let Some(end_of_day) = self.spent_until.take() {
                    self.report_resumed(if now < end_of_day { "limits.day_cost allows more" } else { "another day" });
                }
                if budget == DayBudget::Available {
                    return LaunchVerdict::Launch;
                }
                // The end of a run that has reserved the rest wakes the watcher as well.
                self.recheck_at = Some(Instant::now() + READ_CONFIG_EVERY);
                LaunchVerdict::Wait
            }
            Err(e) => {
                log::error(&e);
                self.until = Some(now + RETRY_AFTER);
                LaunchVerdict::Wait
            }
        }
    }

    /// Stops checking, because no run waits to be launched.
    pub(crate) fn rest(&mut self) {
        self.recheck_at = None;
        // A pause that is over must not wake the watcher again and again.
        self.until = self.until.filter(|until| *until > time::now());
    }

    /// Looks again soon at the probe that another watcher runs.
    pub(crate) fn recheck_probe_soon(&mut self) {
        self.recheck_at = Some(Instant::now() + RECHECK_EVERY);
    }

    /// Decides, right before a run is started, if it may start. If one run is to be tried, only one watcher among all gets it.
    pub(crate) fn admit(&mut self, run: &Run) -> bool {
        let token = run.token();
        let settings = self.settings;
        if self.breaker.read().permit(settings, time::now()) == BreakerPermit::Any {
            return true;
        }
        let (admitted, is_probe) = self.breaker.change(|breaker| match breaker.permit(settings, time::now()) {
            BreakerPermit::Any => (true, false),
            BreakerPermit::One => (true, breaker.launched(&token, time::now())),
            BreakerPermit::Wait | BreakerPermit::NotBefore(_) => (false, false),
        });
        if is_probe {
            tracing::info!(event = "probing", workflow = %run.workflow_id, "one run, to see whether runs succeed again");
        }
        admitted
    }

    /// Notes that a run that was admitted could not be started.
    pub(crate) fn not_started(&mut self, run: &Run) {
        self.breaker.change(|breaker| breaker.ended(&run.token(), time::now()));
    }

    /// Reports to the breaker how runs ended. Every watcher does this for every run, but the breaker counts a run once. The watcher
    /// whose call changes the breaker's state reports the change.
    pub(crate) fn observe(&mut self, runs: &[Run]) {
        let runs: Vec<&Run> = runs.iter().filter(|r| r.is_launch()).collect();
        if runs.is_empty() {
            return;
        }
        // The supervisor may have read a configuration that names another program than this watcher knows.
        if runs.iter().any(|run| run.failure.as_ref().is_some_and(|failure| failure.class == Class::Setup)) {
            self.read_runners();
        }
        let (settings, now) = (self.settings, time::now());
        let (changes, why, permit) = self.breaker.change(|breaker| {
            let changes: Vec<_> = runs.iter().map(|run| observe_one(breaker, run, settings, now)).collect();
            (changes, breaker.why().unwrap_or_default().to_owned(), breaker.permit(settings, now))
        });
        for change in changes {
            match (change, permit) {
                (Change::Closed, _) => self.report_resumed("a run was delivered"),
                (Change::Opened, BreakerPermit::NotBefore(until)) => self.report_paused(until, &why),
                _ => {}
            }
        }
    }

    /// Reports a run that a command has delivered in the foreground. A queue that failures have paused goes on.
    pub(crate) fn delivered_by_hand(mailbox: &Mailbox, config: &Config, run: &Run) {
        let mut gate = Self::new(mailbox, config);
        if gate.breaker.read().why().is_some() {
            gate.observe(std::slice::from_ref(run));
        }
    }

    /// Allows another run to be tried if no process runs the probe any more.
    pub(crate) fn end_dead_probe(&mut self) {
        let Some((token, tried_at)) = self.breaker.read().probe().map(|(run, at)| (run.to_owned(), at)) else { return };
        let run = token.parse().ok().and_then(|id: AttemptId| record::read(&self.mailbox, &id.round, id.attempt).ok());
        if let Some(run) = &run {
            // A lock that cannot be checked may be held.
            if Lock::is_held(&record::lock_path(&self.mailbox, &run.round())).unwrap_or(true) {
                return;
            }
            let is_starting = tried_at.is_some_and(|at| time::is_near(at, PROBE_START_LIMIT));
            if run.state == RunState::Claimed && is_starting && disk::exists(self.mailbox.round(Folder::Running, &run.round())) {
                return;
            }
            // Read the record again, because it may have changed just before the lock was released.
            self.observe(&record::read(&self.mailbox, &run.round(), run.attempt).into_iter().collect::<Vec<_>>());
        }
        self.breaker.change(|breaker| breaker.ended(&token, time::now()));
    }

    /// Reports runs to the breaker that failed while no watcher ran.
    pub(crate) fn count_recent_failures(&mut self) {
        let rounds = [Folder::Running, Folder::Parked].into_iter().flat_map(|f| list::round_names(&self.mailbox, f));
        let mut runs: Vec<Run> = rounds.filter_map(|round| record::latest(&self.mailbox, &round).ok().flatten()).collect();
        runs.retain(|r| {
            matches!(r.state, RunState::Failed | RunState::Parked)
                && r.ended_at.is_some_and(|at| at <= time::now() && time::since(at) < self.settings.window)
        });
        runs.sort_unstable_by_key(|r| r.ended_at);
        self.observe(&runs);
    }

    fn report_paused(&self, until: Time, why: &str) {
        let until = time::rfc3339(until);
        tracing::warn!(event = "paused", %until, "the queue until {until}: {why}");
        audit::record(&self.mailbox, Entry::about("queue_paused").by("watcher").why(format!("until {until}: {why}")));
    }

    fn report_resumed(&self, why: &str) {
        tracing::info!(event = "resumed", "the queue: {why}");
        audit::record(&self.mailbox, Entry::about("queue_resumed").by("watcher").why(why));
    }
}

/// The runners that some workflow may get, the default runner first.
fn in_use(config: &Config) -> Result<Vec<Runner>> {
    Ok(config.runner.in_use()?.into_iter().map(|(_, runner)| runner).collect())
}

fn observe_one(breaker: &mut Breaker, run: &Run, settings: Settings, now: Time) -> Change {
    let (token, at) = (run.token(), run.ended_at.unwrap_or(now));
    match run.state {
        RunState::Delivered | RunState::Asking => breaker.delivered(at, now),
        RunState::Failed | RunState::Parked if run.failure.as_ref().is_none_or(|f| f.class.is_everybodys()) => {
            breaker.failed(&token, at, settings, now)
        }
        // Its supervisor died.
        RunState::Running => breaker.failed(&token, now, settings, now),
        RunState::Failed | RunState::Parked | RunState::Interrupted => {
            breaker.ended(&token, now);
            Change::None
        }
        // This record belongs to the next attempt.
        RunState::Claimed => Change::None,
    }
}
