//! The dates when a watcher has something to do although no message came.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::messages::Options;
use crate::scope::LOOK_FOR_SERVICE_EVERY;
use askbox_mailbox::{Due, Error, RoundId, Timer, time};
use askbox_run::log;

/// The longest time between two looks at everything.
const LOOK_AROUND_EVERY: Duration = Duration::from_secs(60);
/// The pause before an operation that failed is tried again.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(10);
/// The pause before a lock that another process keeps is tried again.
const RETRY_HELD_AFTER: Duration = Duration::from_secs(1);

/// Logs an error, and returns the pause before the next attempt. A lock that another process keeps is not logged, because it was logged
/// at the first attempt.
pub(super) fn pause_after(error: &Error) -> Duration {
    if error.is_held() {
        return RETRY_HELD_AFTER;
    }
    log::error(error);
    RETRY_AFTER
}

/// The dates of a watcher.
pub(super) struct Dates {
    /// Expiries, reminders and retries, as far as their dates are known.
    pub(super) timers: BTreeSet<Timer>,
    /// Paths to look at again, and when.
    pub(super) look_again_at: HashMap<PathBuf, Instant>,
    next_look_around: Instant,
    look_around_every: Duration,
}

impl Dates {
    pub(super) fn new(options: &Options) -> Self {
        let usual = if options.scope.is_service() { LOOK_AROUND_EVERY } else { LOOK_FOR_SERVICE_EVERY };
        let look_around_every = options.poll.unwrap_or(usual);
        Self {
            timers: BTreeSet::new(),
            look_again_at: HashMap::new(),
            next_look_around: Instant::now() + look_around_every,
            look_around_every,
        }
    }

    /// The earliest of all dates.
    pub(super) fn next(&self) -> Instant {
        let now = Instant::now();
        let timer = self.timers.first().map(|t| now + (t.at - time::now()).to_std().unwrap_or_default());
        self.look_again_at.values().copied().chain(timer).fold(self.next_look_around, Instant::min)
    }

    pub(super) fn add(&mut self, timer: Timer) {
        self.timers.insert(timer);
    }

    /// Makes a timer that could not be handled due again after a pause.
    pub(super) fn try_again(&mut self, timer: Timer, pause: Duration) {
        self.add(Timer { at: time::now() + pause, ..timer });
    }

    /// True if the date of a timer has come.
    pub(super) fn are_due(&self) -> bool {
        self.timers.first().is_some_and(|t| t.at <= time::now())
    }

    /// Takes the next timer whose date has come.
    pub(super) fn pop_due(&mut self) -> Option<Timer> {
        if self.are_due() { self.timers.pop_first() } else { None }
    }

    /// The rounds whose questions wait for an event.
    pub(super) fn rounds_with_event(&self) -> HashSet<&RoundId> {
        self.timers.iter().filter(|t| t.due == Due::Until).map(|t| &t.round).collect()
    }

    pub(super) fn forget_expiry(&mut self, round: &RoundId) {
        self.timers.retain(|t| t.due != Due::Expire || t.round != *round);
    }

    /// Looks at this path again after an error, which goes to the log.
    pub(super) fn retry(&mut self, path: PathBuf, error: &Error) {
        log::error(error);
        self.look_later(path, RETRY_AFTER);
    }

    pub(super) fn look_later(&mut self, path: PathBuf, wait: Duration) {
        self.look_again_at.insert(path, Instant::now() + wait);
    }

    /// The paths whose time for another look has come.
    pub(super) fn due_paths(&self) -> Vec<PathBuf> {
        let now = Instant::now();
        self.look_again_at.iter().filter(|(_, at)| **at <= now).map(|(p, _)| p.clone()).collect()
    }

    pub(super) fn is_time_to_look_around(&self) -> bool {
        Instant::now() >= self.next_look_around
    }

    /// Notes that everything is being looked at.
    pub(super) fn put_off_look_around(&mut self) {
        self.next_look_around = Instant::now() + self.look_around_every;
    }
}
