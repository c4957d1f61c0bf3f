//! The limits on a run: its time, and how many answers the model gives. Also the times to report its silence.

use std::time::{Duration, Instant};

use askbox_config::Limits;

/// A limit on time that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeLimit {
    /// `limits.run_time`.
    Run,
    /// `limits.tree_time`.
    Tree,
    /// `limits.silence`.
    Silence,
}

/// The deadlines of an agent at work.
#[derive(Debug)]
pub(super) struct Deadlines {
    run_over: Instant,
    tree_over: Option<Instant>,
    last_sign: Instant,
    /// False for a plain program: it may be quiet for as long as it likes.
    talks: bool,
    longest_silence: Duration,
    /// The length of silence that is reported first. Each later report comes after twice the time of the one before.
    first_report: Duration,
    next_report: Duration,
}

impl Deadlines {
    /// For an agent that starts now. `tree_time` is how long the workflow's tree may still be at work.
    pub(super) fn new(limits: &Limits, tree_time: Option<Duration>, now: Instant) -> Self {
        Self {
            run_over: now + limits.run_time.0,
            tree_over: tree_time.map(|left| now + left),
            last_sign: now,
            talks: true,
            longest_silence: limits.silence.0,
            first_report: limits.silent_after.0,
            next_report: limits.silent_after.0,
        }
    }

    /// The same without limits on silence and without reports of it.
    pub(super) fn of_a_quiet_program(self) -> Self {
        Self { talks: false, ..self }
    }

    /// Notes that the agent has printed something.
    pub(super) fn sign_of_life(&mut self, now: Instant) {
        self.last_sign = now;
        self.next_report = self.first_report;
    }

    /// The limit that has passed, if any.
    pub(super) fn passed(&self, now: Instant) -> Option<TimeLimit> {
        if now >= self.run_over {
            Some(TimeLimit::Run)
        } else if self.tree_over.is_some_and(|at| now >= at) {
            Some(TimeLimit::Tree)
        } else if self.talks && now - self.last_sign >= self.longest_silence {
            Some(TimeLimit::Silence)
        } else {
            None
        }
    }

    /// Puts the limits on the time of the run and of its tree off until this moment.
    pub(super) fn put_off(&mut self, until: Instant) {
        self.run_over = self.run_over.max(until);
        self.tree_over = self.tree_over.map(|at| at.max(until));
    }

    /// When a limit passes or a report of silence is due, whichever comes first.
    pub(super) fn next(&self) -> Instant {
        let silence = self.talks.then(|| self.last_sign + self.longest_silence.min(self.next_report));
        [silence, self.tree_over].into_iter().flatten().fold(self.run_over, Instant::min)
    }

    /// The length of the agent's silence, if it is to be reported now.
    pub(super) fn silence_to_report(&mut self, now: Instant) -> Option<Duration> {
        let silence = now - self.last_sign;
        let due = self.talks && silence >= self.next_report;
        if due {
            self.next_report *= 2;
        }
        due.then_some(silence)
    }
}

/// The number of answers that the model has given, and the limit.
#[derive(Debug)]
pub(super) struct ModelAnswers {
    given: u32,
    most: Option<u32>,
}

impl ModelAnswers {
    pub(super) fn new(most: Option<u32>) -> Self {
        Self { given: 0, most }
    }

    /// Counts an answer. Returns the limit if the count has passed it.
    pub(super) fn count(&mut self) -> Option<u32> {
        self.given = self.given.saturating_add(1);
        self.most.filter(|most| self.given > *most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::time::Span;

    #[test]
    fn silence_is_reported_at_doubling_distances() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let span = |seconds| Span(Duration::from_secs(seconds));
        let limits = Limits { run_time: span(1000), silence: span(100), silent_after: span(10), ..Limits::default() };
        let mut deadlines = Deadlines::new(&limits, None, start);
        for report in [10, 20, 40] {
            assert_eq!(deadlines.next(), at(report));
            assert_eq!(deadlines.silence_to_report(at(report - 1)), None);
            assert_eq!(deadlines.silence_to_report(at(report)), Some(Duration::from_secs(report)));
        }
        deadlines.sign_of_life(at(50));
        assert_eq!(deadlines.next(), at(60));
        assert_eq!(deadlines.passed(at(149)), None);
        assert_eq!(deadlines.passed(at(150)), Some(TimeLimit::Silence));
    }

    #[test]
    fn a_quiet_program_has_only_the_limits_of_the_run_and_its_tree() {
        let start = Instant::now();
        let limits = Limits::default();
        let long = limits.run_time.0 - Duration::from_secs(1);
        let mut deadlines = Deadlines::new(&limits, None, start).of_a_quiet_program();
        assert_eq!(deadlines.next(), start + limits.run_time.0);
        assert_eq!((deadlines.passed(start + long), deadlines.silence_to_report(start + long)), (None, None));
        assert_eq!(deadlines.passed(start + limits.run_time.0), Some(TimeLimit::Run));
    }

    #[test]
    fn the_limit_of_the_run_is_named_before_other_limits() {
        let start = Instant::now();
        let limits = Limits::default();
        let deadlines = Deadlines::new(&limits, Some(Duration::from_secs(1)), start);
        assert_eq!(deadlines.next(), start + Duration::from_secs(1));
        assert_eq!(deadlines.passed(start + Duration::from_secs(1)), Some(TimeLimit::Tree));
        assert_eq!(deadlines.passed(start + limits.run_time.0), Some(TimeLimit::Run));
    }
}
