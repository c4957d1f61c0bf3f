//! Sends what a person decided about the question that was shown, and about no other.

use uuid::Uuid;

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Mailbox;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::transitions::accept::Accepted;
use crate::surface::person::as_shown;
use crate::surface::person::decision::Decision;
use crate::surface::program;

/// The channel that answers from the page are recorded with.
pub const CHANNEL: &str = "web";

/// Sends a decision about this round of a workflow, if it still asks what was shown.
///
/// # Errors
/// [`Error::Conflict`](crate::error::Error::Conflict) if it does not, or if somebody else was first; [`Error::Invalid`](crate::error::Error::Invalid) if the value does not fit.
pub fn send(mailbox: &Mailbox, round: &RoundId, shown: Uuid, decision: Decision, device: &str) -> Result<Accepted> {
    let person = program::answerer(device, CHANNEL, Through::Web)?.in_own_words();
    // Words that are close to an option were asked back already.
    as_shown::answer(mailbox, round, shown, decision.given_by(&person), &person)
}
