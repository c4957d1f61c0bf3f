//! What the earlier attempts of a round came to, read from their records: so counts and back-off survive every restart.

use crate::error::Result;
use crate::mailbox::Mailbox;
use crate::run::attempt::failure::Class;
use crate::run::attempt::record::{self, Run, State};
use crate::time::Time;

/// The attempts of a round before one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EarlierAttempts {
    /// Attempts that count: all but those that only had to wait, were stopped, or reached a limit.
    pub counted: u32,
    /// Attempts that were throttled, in a row, right before.
    pub throttled: u32,
    /// When the first of those ended.
    pub throttled_since: Option<Time>,
    /// The signatures of the failures before, the newest first; only as far as they are failures of the agent.
    signatures: Vec<String>,
}

impl EarlierAttempts {
    /// Reads the records of all attempts before `run`.
    pub fn before(mailbox: &Mailbox, run: &Run) -> Result<Self> {
        let round = run.round();
        let mut earlier = Vec::new();
        for attempt in record::attempts(mailbox, &round)?.into_iter().rev().filter(|a| *a < run.attempt) {
            match record::read(mailbox, &round, attempt) {
                // A crash came between the folder and its record: that attempt never was.
                Err(e) if e.is_missing_file() => {}
                other => earlier.push(other?),
            }
        }
        Ok(Self::of(&earlier))
    }

    /// Of these attempts, the newest first.
    #[must_use]
    pub fn of(newest_first: &[Run]) -> Self {
        let class = |run: &Run| run.failure.as_ref().map(|f| f.class);
        let is_throttled = |run: &&Run| run.state == State::Failed && class(run).is_some_and(Class::waits);
        let throttled = || newest_first.iter().take_while(is_throttled);
        let others =
            || newest_first.iter().filter(|r| r.state != State::Interrupted && !class(r).is_some_and(|c| c.waits() || c.is_limit()));
        let signature = |run: &Run| run.failure.as_ref().filter(|f| f.class == Class::Agent).map(|f| f.signature.clone());
        Self {
            counted: u32::try_from(others().count()).unwrap_or(u32::MAX),
            throttled: u32::try_from(throttled().count()).unwrap_or(u32::MAX),
            throttled_since: throttled().last().and_then(|r| r.ended_at),
            signatures: others().map_while(signature).collect(),
        }
    }

    /// How often this same failure came in a row, right before.
    #[must_use]
    pub fn same(&self, signature: &str) -> u32 {
        u32::try_from(self.signatures.iter().take_while(|s| *s == signature).count()).unwrap_or(u32::MAX)
    }
}
