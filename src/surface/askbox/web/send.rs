//! Sends what a person decided about the question that was shown, and about no other.

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Mailbox;
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::mailbox::transitions::accept::{self, Accepted, On};
use crate::mailbox::who::caller::Caller;
use crate::surface::person::decision::Decision;

/// The channel that answers from the page are recorded with.
pub const CHANNEL: &str = "web";

/// Sends a decision about this round of a workflow, if it still asks what was shown.
///
/// # Errors
/// [`Error::Conflict`](crate::error::Error::Conflict) if it does not, or if somebody else was first; [`Error::Invalid`](crate::error::Error::Invalid) if the value does not fit.
pub fn send(mailbox: &Mailbox, person: &Caller, round: &RoundId, shown: Shown, decision: Decision) -> Result<Accepted> {
    // Words that are close to an option were asked back already.
    let on = accept::Decision::of(person, On::Shown(round.question, shown)).in_own_words();
    accept::answer(mailbox, &round.workflow, on, decision.given_by(person))
}
