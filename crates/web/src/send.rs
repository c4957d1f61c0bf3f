//! Sends a person's decision about exactly the question that was shown.

use askbox_cli::PersonsDecision;
use askbox_mailbox::{Accepted, Caller, Mailbox, On, Result, RoundId, Shown, accept};
use askbox_run::asking::orphans;

/// The channel recorded with answers from the page.
pub const CHANNEL: &str = "web";

/// Sends a decision about this round of a workflow, if its question is still the one that was shown.
///
/// # Errors
/// [`Error::Conflict`](askbox_mailbox::error::Error::Conflict) if it is not, or if somebody else was first;
/// [`Error::Invalid`](askbox_mailbox::error::Error::Invalid) if the value does not fit.
pub fn send_decision(mailbox: &Mailbox, person: &Caller, round: &RoundId, shown: Shown, decision: PersonsDecision) -> Result<Accepted> {
    // The person has already been asked about words that are close to an option.
    let on = accept::Decision::by(person, On::Shown(round.question, shown)).in_own_words();
    orphans::end_waiting(mailbox, &round.workflow)?;
    accept::answer(mailbox, &round.workflow, on, decision.given_by(person))
}
