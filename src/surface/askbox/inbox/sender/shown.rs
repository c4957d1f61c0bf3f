//! A question as it was read for the screen, and where its round is.

use crate::address::{Address, HostName};
use crate::id::RoundId;
use crate::mailbox::Question;
use crate::mailbox::round::Round;

/// A round of this machine, or of another one. Rounds of two machines may have the same ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoundAt {
    /// The other machine; `None` for this one.
    pub host: Option<HostName>,
    pub round: RoundId,
}

impl RoundAt {
    /// A round of this machine.
    pub fn here(round: RoundId) -> Self {
        Self { host: None, round }
    }

    /// Where it waits, or waited.
    pub fn address(&self) -> Address {
        Address { host: self.host.clone(), workflow: self.round.workflow.clone() }
    }
}

/// A question as it was read. A person answers this one, and no other that took its place.
#[derive(Debug)]
pub struct Shown {
    /// The other machine; `None` for this one.
    pub host: Option<HostName>,
    pub round: Round,
}

impl Shown {
    pub fn at(&self) -> RoundAt {
        RoundAt { host: self.host.clone(), round: self.round.id.clone() }
    }

    pub fn address(&self) -> Address {
        Address { host: self.host.clone(), workflow: self.round.id.workflow.clone() }
    }

    pub fn question(&self) -> &Question {
        &self.round.document.typed
    }
}
