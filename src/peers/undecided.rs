//! Answers that were sent to a machine and about which it has not decided yet, whoever sent them.

use uuid::Uuid;

use crate::address::HostName;
use crate::id::QuestionId;
use crate::time::Time;
use crate::untrusted::Untrusted;

/// An answer that waits for its machine's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecided {
    /// The offer.
    pub offer: Uuid,
    /// The machine that decides.
    pub host: HostName,
    /// The question that it answers.
    pub question: QuestionId,
    /// Who sent it, by the name that they have between here and there.
    pub by: Untrusted,
    /// When, by this machine's clock.
    pub at: Time,
}
