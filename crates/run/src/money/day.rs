//! The day's limit on money (`limits.day_cost`, days in UTC): how much of it is spent, how much is reserved for live runs, and
//! whether another run may be launched today.

use crate::attempt::record::{self, RunState};
use crate::money::costs;
use askbox_config::Config;
use askbox_mailbox::{AttemptId, Error, Folder, Lock, Mailbox, Result, RoundId, Time, list, time};

/// How much of the day's limit is used. All amounts are US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Day {
    /// The limit.
    pub limit: f64,
    /// Booked today.
    pub spent: f64,
    /// Reserved for live runs and not spent yet.
    pub reserved: f64,
    /// How many live runs hold a reservation.
    pub runs: usize,
}

impl Day {
    /// Adds up the bookings of the day of `now` and the reservations of all live runs except `but`'s. `None` if no limit is set.
    pub fn read(mailbox: &Mailbox, config: &Config, now: Time, but: Option<&RoundId>) -> Result<Option<Self>> {
        let limit = config.limits.day_cost;
        if limit <= 0.0 {
            return Ok(None);
        }
        let (mut held, mut since) = (Vec::new(), now);
        for round in list::round_names(mailbox, Folder::Running).filter(|r| but != Some(r)) {
            if !Lock::is_held(&record::lock_path(mailbox, &round))? {
                continue;
            }
            match record::latest(mailbox, &round) {
                Ok(Some(run)) if matches!(run.state, RunState::Claimed | RunState::Running) => {
                    since = since.min(run.claimed_at);
                    held.extend(run.reserved_usd.map(|usd| (run.id(), usd)));
                }
                Ok(_) => {}
                // One unreadable record must not hold up every other run. Assume that the run reserved the most that a run may.
                Err(_) => held.push((AttemptId { round, attempt: 0 }, config.limits.run_cost)),
            }
        }
        // The reservations come first, then what they have spent of them, then the sum: an amount that is booked in between then counts
        // twice rather than not at all.
        let attempts: Vec<AttemptId> = held.iter().map(|(attempt, _)| attempt.clone()).collect();
        let booked = costs::of_day_by_attempt(mailbox, now, &attempts, since)?;
        let left = |(attempt, usd): &(AttemptId, f64)| (usd - booked.get(attempt).copied().unwrap_or(0.0)).max(0.0);
        let spent = costs::of_day(mailbox, now)?;
        Ok(Some(Self { limit, spent, reserved: held.iter().map(left).fold(0.0, |all, usd| all + usd), runs: held.len() }))
    }

    /// The US dollars that are not spent and not reserved.
    pub fn free(&self) -> f64 {
        self.limit - self.spent - self.reserved
    }
}

/// Whether the day's limit allows another launch.
#[derive(Debug, Clone, PartialEq)]
pub enum DayBudget {
    /// Money is left, or no limit is set.
    Available,
    /// All that is left is reserved for live runs. It may be free again when one of them ends.
    Reserved {
        /// The limit, and how many runs hold the rest.
        why: String,
    },
    /// The limit is spent.
    Spent {
        /// When the next day begins.
        until: Time,
        /// The limit, and what was spent.
        why: String,
    },
}

impl DayBudget {
    /// Refuses a launch that a person asks for while the limit is spent, so that nothing is begun that would have to be parked.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the limit is spent.
    pub fn check(mailbox: &Mailbox, config: &Config) -> Result<()> {
        match Self::at(mailbox, config, time::now())? {
            Self::Spent { until, why } => {
                let hint = format!("a watcher launches what waits at {}; to launch it today, raise limits.day_cost", time::rfc3339(until));
                Err(Error::conflict(format!("nothing is launched: {why}"), hint))
            }
            Self::Available | Self::Reserved { .. } => Ok(()),
        }
    }

    /// The state at `now`.
    pub fn at(mailbox: &Mailbox, config: &Config, now: Time) -> Result<Self> {
        let Some(day) = Day::read(mailbox, config, now, None)? else { return Ok(Self::Available) };
        let limit = day.limit;
        Ok(if day.spent >= limit {
            let until = now.date_naive().succ_opt().and_then(|d| d.and_hms_opt(0, 0, 0)).map_or(Time::MAX_UTC, |t| t.and_utc());
            Self::Spent { until, why: format!("limits.day_cost = {limit} USD is used up ({:.2} spent)", day.spent) }
        } else if day.free() <= 0.0 {
            Self::Reserved { why: format!("all that is left of limits.day_cost = {limit} USD is reserved for live runs ({})", day.runs) }
        } else {
            Self::Available
        })
    }
}
