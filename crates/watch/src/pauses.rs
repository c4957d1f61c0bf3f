//! The growing pauses between the starts of something that keeps ending.

use std::time::{Duration, Instant};

/// The pause after the first start, and the longest pause.
const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(300);

/// The pauses between starts. Each pause is twice as long as the one before, until [`Self::works`] is called.
#[derive(Debug, Default)]
pub struct Pauses {
    failures: u32,
    /// The end of the pause after the last start.
    pub until: Option<Instant>,
}

impl Pauses {
    /// Notes a start. The next one is due after a pause.
    pub fn put_off(&mut self) {
        self.until = Some(Instant::now() + FIRST.saturating_mul(1 << self.failures.min(8)).min(LONGEST));
        self.failures += 1;
    }

    /// Notes that it works, so the next pause is short.
    pub fn works(&mut self) {
        self.failures = 0;
    }

    /// True during a pause.
    pub fn is_on(&self) -> bool {
        self.until.is_some_and(|at| at > Instant::now())
    }
}
