//! The breaker of all runs. If many runs in a row fail, it pauses the queue, and after a pause one run is tried. It does no I/O and
//! reads no clock. Its state lies in `breaker.json` and survives restarts.
//!
//! ```text
//! closed ── N failures within the window, none delivered ──▶ open ── its pause is over ──▶ probing (one run)
//!    ▲                                                        ▲                                 │
//!    └────────────────────── a run was delivered ─────────────┴── it failed: twice the pause ───┘
//! ```

use std::time::Duration;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use askbox_config::Relaunch;
use askbox_mailbox::{Time, time};

/// The most times that the pause doubles.
const DOUBLINGS: u32 = 3;
/// The most failures that are kept, whatever the configuration says.
const REMEMBERED: usize = 10_000;

/// When the breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The number of failures that opens it; 0 for never.
    pub failures: u32,
    /// The time within which they must happen.
    pub window: Duration,
    /// The first pause.
    pub pause: Duration,
}

impl Settings {
    /// The operator's configuration: `relaunch.breaker_…`.
    pub fn from_config(config: &Relaunch) -> Self {
        Self { failures: config.breaker_failures, window: config.breaker_window.0, pause: config.breaker_pause.0 }
    }
}

/// The state of the breaker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum BreakerState {
    /// Runs are launched.
    #[default]
    Closed,
    /// Nothing is launched until a given time. After that, one run is launched.
    Open {
        /// When it opened.
        since: Time,
        /// The end of the pause.
        until: Time,
        /// The number of this pause in a row, from 1; 0 if no run failed, and the agent program cannot be started.
        pause: u32,
        /// The reason why it opened.
        why: String,
    },
    /// One run is being tried.
    Probing {
        /// The run: `WORKFLOW/QUESTION/ATTEMPT`.
        run: String,
        /// When the breaker opened.
        since: Time,
        /// When the run was launched; missing in files of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tried_at: Option<Time>,
        /// The number of the pause before it, in a row, from 1.
        pause: u32,
        /// The reason why it opened.
        why: String,
    },
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failed {
    /// When it ended.
    pub at: Time,
    /// The run: `WORKFLOW/QUESTION/ATTEMPT`.
    pub run: String,
}

/// The breaker, as `breaker.json` has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Breaker {
    /// The version of the layout.
    #[serde(default)]
    pub schema_version: u32,
    /// Its state.
    #[serde(flatten)]
    pub state: BreakerState,
    /// The failures that count, the oldest first.
    #[serde(default)]
    pub failures: Vec<Failed>,
    /// When the last delivered run ended; earlier failures do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Time>,
}

/// The launches that are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerPermit {
    /// As many runs as `relaunch.max_concurrent` allows.
    Any,
    /// One run, to find out if runs succeed again.
    One,
    /// Nothing before this time.
    NotBefore(Time),
    /// Nothing before the probe has ended.
    Wait,
}

/// How an event changed the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The queue was neither paused nor opened.
    None,
    /// The queue is paused from now on.
    Opened,
    /// The queue goes on.
    Closed,
}

impl Breaker {
    /// The launches that are possible now. A pause that would last longer than any pause can began before the clock was set back, so it
    /// is over.
    pub fn permit(&self, settings: Settings, now: Time) -> BreakerPermit {
        match &self.state {
            BreakerState::Closed => BreakerPermit::Any,
            BreakerState::Open { until, pause, .. } if time::is_ahead(*until, length(settings, *pause), now) => {
                BreakerPermit::NotBefore(*until)
            }
            BreakerState::Open { .. } => BreakerPermit::One,
            BreakerState::Probing { .. } => BreakerPermit::Wait,
        }
    }

    /// Notes that a run is about to be launched. Returns whether it is the probe.
    pub fn launched(&mut self, run: &str, now: Time) -> bool {
        let BreakerState::Open { since, pause, why, .. } = &self.state else { return false };
        self.state = BreakerState::Probing { run: run.into(), since: *since, tried_at: Some(now), pause: *pause, why: why.clone() };
        true
    }

    /// Notes that a run failed. The same run counts once, however often this is called.
    pub fn failed(&mut self, run: &str, at: Time, settings: Settings, now: Time) -> Change {
        let known = self.failures.iter().any(|f| f.run == run);
        // A date ahead of the clock was written before the clock was set back. It no longer counts.
        let at = at.min(now);
        if settings.failures == 0 || known || self.delivered_at.is_some_and(|d| d >= at && d <= now) {
            return Change::None;
        }
        let begin = now.checked_sub_signed(delta(settings.window)).unwrap_or(Time::MIN_UTC);
        self.failures.push(Failed { at, run: run.into() });
        self.failures.retain(|f| f.at > begin && f.at <= now);
        let excess = self.failures.len().saturating_sub(REMEMBERED);
        self.failures.drain(..excess);
        match &self.state {
            BreakerState::Probing { run: probe, since, pause, .. } if probe == run => {
                self.state = open(*since, pause.saturating_add(1), settings, now, format!("the run that was tried failed as well: {run}"));
                Change::Opened
            }
            BreakerState::Closed if self.failures.len() >= usize::try_from(settings.failures).unwrap_or(usize::MAX) => {
                let why = format!("{} runs failed within {} and none was delivered", self.failures.len(), time::human(settings.window));
                self.state = open(now, 1, settings, now, why);
                Change::Opened
            }
            _ => Change::None,
        }
    }

    /// Notes that a run was delivered, so the breaker closes. A run that ended before the breaker opened does not close it.
    pub fn delivered(&mut self, at: Time, now: Time) -> Change {
        let at = at.min(now);
        self.delivered_at = Some(self.delivered_at.filter(|d| *d <= now).map_or(at, |d| d.max(at)));
        self.failures.retain(|f| f.at > at && f.at <= now);
        match &self.state {
            BreakerState::Open { since, .. } | BreakerState::Probing { since, .. } if *since <= at || *since > now => {
                self.state = BreakerState::Closed;
                Change::Closed
            }
            _ => Change::None,
        }
    }

    /// Notes that a run could not start, or that its end says nothing about other runs. If it was the probe, another run may be tried.
    pub fn ended(&mut self, run: &str, now: Time) {
        if let BreakerState::Probing { run: probe, since, pause, why, .. } = &self.state
            && probe == run
        {
            self.state = BreakerState::Open { since: *since, until: now, pause: *pause, why: why.clone() };
        }
    }

    /// Notes that the agent program cannot be started, so that every run would fail: nothing is launched before `until`, when somebody looks
    /// again. This costs no run.
    pub fn cannot_start(&mut self, why: &str, until: Time, now: Time) -> Change {
        let (since, pause, is_known) = match &self.state {
            BreakerState::Closed => (now, 0, false),
            BreakerState::Open { since, pause, why: known, .. } => (*since, *pause, known == why),
            BreakerState::Probing { .. } => return Change::None,
        };
        self.state = BreakerState::Open { since, until, pause, why: why.to_owned() };
        if is_known { Change::None } else { Change::Opened }
    }

    /// Notes that the agent program can be started. The queue goes on if nothing else had paused it.
    pub fn can_start(&mut self) -> Change {
        if !self.waits_for_program() {
            return Change::None;
        }
        self.state = BreakerState::Closed;
        Change::Closed
    }

    /// True if nothing but the agent program holds the queue.
    pub fn waits_for_program(&self) -> bool {
        matches!(self.state, BreakerState::Open { pause: 0, .. })
    }

    /// Ends the pause, because the operator does not want to wait for its end: one run may be tried now. Returns why the queue was
    /// paused.
    pub fn try_now(&mut self, settings: Settings, now: Time) -> Option<String> {
        if !matches!(self.permit(settings, now), BreakerPermit::NotBefore(_)) {
            return None;
        }
        let BreakerState::Open { until, why, .. } = &mut self.state else { return None };
        *until = now;
        Some(why.clone())
    }

    /// The run that is being tried, and when it was launched.
    pub fn probe(&self) -> Option<(&str, Option<Time>)> {
        if let BreakerState::Probing { run, tried_at, .. } = &self.state { Some((run, *tried_at)) } else { None }
    }

    /// The reason why no run, or only one, is launched.
    pub fn why(&self) -> Option<&str> {
        match &self.state {
            BreakerState::Closed => None,
            BreakerState::Open { why, .. } | BreakerState::Probing { why, .. } => Some(why),
        }
    }
}

fn open(since: Time, pause: u32, settings: Settings, now: Time, why: String) -> BreakerState {
    let length = delta(length(settings, pause));
    BreakerState::Open { since, until: now.checked_add_signed(length).unwrap_or(Time::MAX_UTC), pause, why }
}

/// The length of a pause, by its number in a row.
fn length(settings: Settings, pause: u32) -> Duration {
    settings.pause.saturating_mul(1 << pause.saturating_sub(1).min(DOUBLINGS))
}

fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings { failures: 3, window: Duration::from_secs(60), pause: Duration::from_secs(100) };

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
    }

    fn fail(breaker: &mut Breaker, run: &str, seconds: i64) -> Change {
        breaker.failed(run, at(seconds), SETTINGS, at(seconds))
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        assert_eq!(fail(&mut breaker, "a/1/1", 0), Change::None);
        assert_eq!(fail(&mut breaker, "b/1/1", 10), Change::None);
        assert_eq!(fail(&mut breaker, "c/1/1", 20), Change::Opened);
        breaker
    }

    #[test]
    fn it_opens_at_the_last_of_n_failures_and_then_probes_one_run() {
        let mut breaker = opened();
        assert_eq!(breaker.permit(SETTINGS, at(119)), BreakerPermit::NotBefore(at(120)));
        assert_eq!(breaker.permit(SETTINGS, at(120)), BreakerPermit::One);
        assert!(breaker.launched("d/1/1", at(0)));
        assert_eq!(breaker.permit(SETTINGS, at(1000)), BreakerPermit::Wait);
        assert!(!breaker.launched("e/1/1", at(0)), "there is one probe only");
        assert_eq!(breaker.probe(), Some(("d/1/1", Some(at(0)))));
    }

    #[test]
    fn failures_that_are_too_far_apart_do_not_open_it() {
        let mut breaker = Breaker::default();
        for n in 0..50 {
            assert_eq!(fail(&mut breaker, &format!("w/1/{n}"), n * 31), Change::None);
        }
        assert_eq!(breaker.permit(SETTINGS, at(2000)), BreakerPermit::Any);
        assert!(breaker.failures.len() < 3);
    }

    #[test]
    fn a_delivered_run_closes_it_and_forgets_the_failures_before() {
        let mut breaker = opened();
        breaker.launched("d/1/1", at(0));
        assert_eq!(breaker.delivered(at(130), at(130)), Change::Closed);
        assert_eq!((breaker.permit(SETTINGS, at(130)), breaker.why()), (BreakerPermit::Any, None));
        assert_eq!(fail(&mut breaker, "e/1/1", 131), Change::None);
        assert_eq!(fail(&mut breaker, "f/1/1", 132), Change::None);
        assert_eq!(fail(&mut breaker, "g/1/1", 133), Change::Opened);
    }

    #[test]
    fn a_run_delivered_before_the_breaker_opened_does_not_close_it() {
        let mut breaker = opened();
        assert_eq!(breaker.delivered(at(19), at(21)), Change::None);
        assert_eq!(breaker.permit(SETTINGS, at(21)), BreakerPermit::NotBefore(at(120)));
        assert_eq!(breaker.delivered(at(20), at(21)), Change::Closed);
        assert_eq!(breaker.delivered(at(20), at(21)), Change::None, "a second report of the same delivery changes nothing");
    }

    #[test]
    fn a_probe_that_fails_doubles_the_pause_up_to_eightfold() {
        let mut breaker = opened();
        let mut now = 20;
        for long in [200, 400, 800, 800, 800] {
            now += 5000;
            assert_eq!(breaker.permit(SETTINGS, at(now)), BreakerPermit::One);
            breaker.launched("p/1/1", at(0));
            breaker.failures.clear();
            assert_eq!(fail(&mut breaker, "p/1/1", now), Change::Opened);
            assert_eq!(breaker.permit(SETTINGS, at(now)), BreakerPermit::NotBefore(at(now + long)));
        }
    }

    #[test]
    fn other_runs_that_fail_while_one_is_tried_change_nothing() {
        let mut breaker = opened();
        assert_eq!(fail(&mut breaker, "z/1/1", 21), Change::None);
        breaker.launched("d/1/1", at(0));
        assert_eq!(fail(&mut breaker, "y/1/1", 121), Change::None);
        assert_eq!(breaker.permit(SETTINGS, at(121)), BreakerPermit::Wait);
        breaker.ended("y/1/1", at(122));
        assert_eq!(breaker.permit(SETTINGS, at(122)), BreakerPermit::Wait);
        breaker.ended("d/1/1", at(123));
        assert_eq!(
            breaker.permit(SETTINGS, at(123)),
            BreakerPermit::One,
            "a probe that was stopped says nothing: another run may be tried"
        );
    }

    #[test]
    fn a_failure_counts_once_and_zero_switches_the_breaker_off() {
        let mut breaker = Breaker::default();
        for _ in 0..9 {
            assert_eq!(fail(&mut breaker, "a/1/1", 0), Change::None);
        }
        assert_eq!(breaker.failures.len(), 1);
        let off = Settings { failures: 0, ..SETTINGS };
        let mut breaker = Breaker::default();
        for n in 0..99 {
            assert_eq!(breaker.failed(&format!("a/1/{n}"), at(n), off, at(n)), Change::None);
        }
        assert_eq!(breaker.permit(SETTINGS, at(100)), BreakerPermit::Any);
    }

    #[test]
    fn a_program_that_cannot_start_pauses_at_once_and_costs_no_run() {
        let (mut breaker, why) = (Breaker::default(), "there is no program `claude`");
        assert_eq!(breaker.can_start(), Change::None);
        assert_eq!(breaker.cannot_start(why, at(5), at(0)), Change::Opened);
        assert_eq!(breaker.permit(SETTINGS, at(4)), BreakerPermit::NotBefore(at(5)));
        assert_eq!(breaker.cannot_start(why, at(10), at(5)), Change::None, "it was told already");
        assert_eq!(breaker.permit(SETTINGS, at(6)), BreakerPermit::NotBefore(at(10)));
        assert_eq!((breaker.can_start(), breaker.can_start()), (Change::Closed, Change::None));
        assert_eq!(breaker.permit(SETTINGS, at(6)), BreakerPermit::Any);
        // After failures, a run is tried all the same.
        let mut breaker = opened();
        assert_eq!(breaker.cannot_start(why, at(130), at(120)), Change::Opened);
        assert_eq!(breaker.can_start(), Change::None);
        assert_eq!(breaker.permit(SETTINGS, at(130)), BreakerPermit::One);
        breaker.launched("d/1/1", at(130));
        assert_eq!(breaker.cannot_start(why, at(140), at(131)), Change::None, "the run that is tried decides");
    }

    #[test]
    fn it_reads_back_as_it_was_written_in_every_state() {
        let mut breaker = opened();
        let mut states = vec![Breaker::default(), breaker.clone()];
        breaker.launched("d/1/1", at(0));
        states.push(breaker.clone());
        breaker.delivered(at(200), at(200));
        states.push(breaker);
        for breaker in states {
            let text = serde_json::to_string(&breaker).unwrap();
            assert_eq!(serde_json::from_str::<Breaker>(&text).unwrap(), breaker, "{text}");
        }
    }

    #[test]
    fn a_clock_that_was_ten_years_ahead_leaves_nothing_that_counts() {
        const YEARS: i64 = 10 * 365 * 86_400;
        let mut breaker = Breaker::default();
        for run in ["a/1/1", "b/1/1", "c/1/1"] {
            fail(&mut breaker, run, YEARS);
        }
        assert_eq!(breaker.permit(SETTINGS, at(YEARS)), BreakerPermit::NotBefore(at(YEARS + 100)));
        // The clock is set back: the pause is over, and one delivered run closes the breaker.
        assert_eq!(breaker.permit(SETTINGS, at(0)), BreakerPermit::One);
        breaker.launched("d/1/1", at(0));
        assert_eq!(breaker.delivered(at(1), at(1)), Change::Closed);
        assert!(breaker.failures.is_empty());
        // A delivery from that time does not keep it from opening.
        breaker.delivered_at = Some(at(YEARS));
        for (n, run) in ["e/1/1", "f/1/1", "g/1/1"].into_iter().enumerate() {
            assert_eq!(fail(&mut breaker, run, 2), if n == 2 { Change::Opened } else { Change::None });
        }
    }

    #[test]
    fn clocks_at_the_end_of_time_break_nothing() {
        let huge = Settings { failures: 1, window: Duration::MAX, pause: Duration::MAX };
        let mut breaker = Breaker::default();
        assert_eq!(breaker.failed("a/1/1", at(0), huge, at(0)), Change::Opened);
        assert_eq!(breaker.permit(huge, at(0)), BreakerPermit::NotBefore(Time::MAX_UTC));
    }
}
