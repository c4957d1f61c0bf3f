//! Sends what a person decided about the question that was shown, and about no other.

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::documents::shown::Shown;
use crate::mailbox::transitions::accept::{self, Accepted, On};
use crate::surface::askbox::web::site::Site;
use crate::surface::person::decision::Decision;

/// The channel that answers from the page are recorded with.
pub const CHANNEL: &str = "web";

/// Sends a decision about this round of a workflow, if it still asks what was shown.
///
/// # Errors
/// [`Error::Conflict`](crate::error::Error::Conflict) if it does not, or if somebody else was first; [`Error::Invalid`](crate::error::Error::Invalid) if the value does not fit.
pub fn send(site: &Site, round: &RoundId, shown: Shown, decision: Decision, device: &str) -> Result<Accepted> {
    let person = site.caller(device, CHANNEL)?;
    // Words that are close to an option were asked back already.
    let on = accept::Decision::of(&person, On::Shown(round.question, shown)).in_own_words();
    accept::answer(&site.mailbox, &round.workflow, on, decision.given_by(&person))
}
