//! The times in a picture, in words. Also computes when these words become wrong: until then, nothing has to be drawn.

use std::cell::Cell;
use std::time::Duration;

use askbox_mailbox::{Time, time};

/// The minimum time before the screen is drawn again only because of its times.
const AT_LEAST: Duration = Duration::from_secs(10);
const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
const DAY: u64 = 86_400;

/// The time of one picture.
pub struct Clock {
    pub now: Time,
    next: Cell<Option<Duration>>,
}

impl Clock {
    pub fn new() -> Self {
        Self::at(time::now())
    }

    fn at(now: Time) -> Self {
        Self { now, next: Cell::new(None) }
    }

    /// How long the times in the picture stay right.
    pub fn right_for(&self) -> Option<Duration> {
        self.next.get().map(|next| next.max(AT_LEAST))
    }

    fn changes_in(&self, seconds: u64) {
        let next = Duration::from_secs(seconds.max(1));
        self.next.set(Some(self.next.get().map_or(next, |known| known.min(next))));
    }

    /// The time since `then` in its largest unit: `now`, `12m`, `5h`, `3d`.
    pub fn age(&self, then: Time) -> String {
        let seconds = (self.now - then).to_std().unwrap_or_default().as_secs();
        let (unit, word) = match seconds {
            0..HOUR => (MINUTE, "m"),
            HOUR..DAY => (HOUR, "h"),
            _ => (DAY, "d"),
        };
        self.changes_in(unit - seconds % unit);
        if seconds < MINUTE { "now".into() } else { format!("{}{word}", seconds / unit) }
    }

    /// The time until `then`: `in 1h 58m`, `in 4m`, `in 3d 2h`.
    pub fn ahead(&self, then: Time) -> String {
        let seconds = (then - self.now).to_std().unwrap_or_default().as_secs();
        let unit = if seconds < DAY { MINUTE } else { HOUR };
        self.changes_in(seconds % unit + 1);
        if seconds < MINUTE {
            "in less than a minute".into()
        } else {
            format!("in {}", time::human(Duration::from_secs(seconds - seconds % unit)))
        }
    }

    /// The local time of day, with the date unless it is today.
    pub fn moment(&self, at: Time) -> String {
        let (at, now) = (at.with_timezone(&chrono::Local), self.now.with_timezone(&chrono::Local));
        at.format(if at.date_naive() == now.date_naive() { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
    }

    /// True if a future time is less than an hour away.
    pub fn is_soon(&self, then: Time) -> bool {
        let seconds = (then - self.now).num_seconds();
        if seconds >= 3600 {
            self.changes_in(u64::try_from(seconds - 3599).unwrap_or(HOUR));
        }
        seconds < 3600
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn times_in_words_stay_right_for_as_long_as_the_clock_says() {
        let now = time::now();
        for (seconds, words, right_for) in
            [(0, "now", 60), (59, "now", 10), (60, "1m", 60), (3599, "59m", 10), (7200, "2h", 3600), (90_000, "1d", 82_800)]
        {
            let clock = Clock::at(now);
            assert_eq!(clock.age(now - TimeDelta::seconds(seconds)), words);
            assert_eq!(clock.right_for(), Some(Duration::from_secs(right_for)), "{seconds}");
        }
        for (seconds, words) in [(30, "in less than a minute"), (60, "in 1m"), (7199, "in 1h 59m"), (7200, "in 2h"), (93_700, "in 1d 2h")] {
            assert_eq!(Clock::at(now).ahead(now + TimeDelta::seconds(seconds)), words);
        }
        assert_eq!(Clock::at(now).right_for(), None, "a picture without times stays right");
    }
}
