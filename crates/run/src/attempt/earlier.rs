//! The outcomes of a round's earlier attempts. They are read from the records, so counts and back-off survive a restart.

use crate::attempt::failure::{Class, Failure};
use crate::attempt::record::{self, Run, RunState};
use askbox_mailbox::{Mailbox, Result, Time, time};

/// The counts of a round's attempts before a given one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EarlierAttempts {
    /// Attempts that count against `relaunch.attempts`: all but those that were throttled, were stopped, or reached a limit.
    pub counted: u32,
    /// How many of the last attempts were throttled in a row.
    pub throttled: u32,
    /// When the first of those ended. `None` if that date is ahead of now, because the clock was set back.
    pub throttled_since: Option<Time>,
    /// The signatures of the last failures, the newest first, up to the first that was not the agent's.
    signatures: Vec<String>,
}

impl EarlierAttempts {
    /// Reads the records of all attempts before `run`.
    pub fn before(mailbox: &Mailbox, run: &Run) -> Result<Self> {
        let round = run.round();
        let before = record::attempts(mailbox, &round)?.into_iter().rev().filter(|attempt| *attempt < run.attempt);
        let earlier = record::read_those(mailbox, &round, before).collect::<Result<Vec<_>>>()?;
        Ok(Self::count(&earlier))
    }

    /// Counts these attempts, the newest first.
    pub fn count(newest_first: &[Run]) -> Self {
        let now = time::now();
        let class = |run: &Run| run.failure.as_ref().map(|f| f.class);
        let is_throttled = |run: &&Run| run.state == RunState::Failed && class(run).is_some_and(Class::waits);
        let throttled = || newest_first.iter().take_while(is_throttled);
        let others =
            || newest_first.iter().filter(|r| r.state != RunState::Interrupted && !class(r).is_some_and(|c| c.waits() || c.is_limit()));
        let is_its_own = |f: &&Failure| matches!(f.class, Class::Agent | Class::Program);
        let signature = |run: &Run| run.failure.as_ref().filter(is_its_own).map(|f| f.signature.clone());
        Self {
            counted: u32::try_from(others().count()).unwrap_or(u32::MAX),
            throttled: u32::try_from(throttled().count()).unwrap_or(u32::MAX),
            throttled_since: throttled().filter_map(|r| r.ended_at).filter(|at| *at <= now).last(),
            signatures: others().map_while(signature).collect(),
        }
    }

    /// How many of the last failures in a row have this signature.
    pub fn same(&self, signature: &str) -> u32 {
        u32::try_from(self.signatures.iter().take_while(|s| *s == signature).count()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::failure::Failure;
    use crate::task::{self, Task};
    use askbox_config::Config;
    use chrono::TimeDelta;

    #[test]
    fn the_first_throttled_attempt_is_not_from_a_clock_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let begun = task::begin(&mailbox, &Config::default(), Task::new("w".parse().unwrap(), "do it")).unwrap();
        let (now, hour) = (time::now(), TimeDelta::hours(1));
        let failure = || Some(Failure::new(Class::Throttled, "529", &begun.workflow_id));
        let throttled = |ended_at: Time| Run { state: RunState::Failed, ended_at: Some(ended_at), failure: failure(), ..begun.clone() };
        let since = |dates: &[Time]| EarlierAttempts::count(&dates.iter().copied().map(throttled).collect::<Vec<_>>()).throttled_since;
        assert_eq!(since(&[now - hour, now - hour * 2]), Some(now - hour * 2));
        assert_eq!(since(&[now - hour, now + hour * 100_000]), Some(now - hour));
        assert_eq!(since(&[now + hour]), None);
    }
}
