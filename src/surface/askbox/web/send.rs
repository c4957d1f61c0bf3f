//! Sends what a person decided about the question that was shown, and about no other.

use uuid::Uuid;

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::documents::fields::through::Through;
use crate::mailbox::transitions::accept::Accepted;
use crate::mailbox::who::answerer::Answerer;
use crate::mailbox::{Answer, AnswerValue, Mailbox};
use crate::surface::person::as_shown;
use crate::surface::program;

/// The channel that answers from the page are recorded with.
pub const CHANNEL: &str = "web";

/// What a person decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// To answer with this value, and this note, which may be empty.
    Answer(AnswerValue, String),
    /// Not to answer, for this reason, which may be empty.
    Decline(String),
    /// To ask the agent this first.
    AskBack(String),
}

impl Decision {
    /// The answer, as this person gives it.
    pub fn given_by(self, person: &Answerer) -> Answer {
        match self {
            Self::Answer(value, note) => Answer { note: not_blank(note), ..person.value(value) },
            Self::Decline(why) => person.declined(not_blank(why)),
            Self::AskBack(question) => person.asking_back(question),
        }
    }
}

/// Sends a decision about this round of a workflow, if it still asks what was shown.
///
/// # Errors
/// [`Error::Conflict`](crate::error::Error::Conflict) if it does not, or if somebody else was first; [`Error::Invalid`](crate::error::Error::Invalid) if the value does not fit.
pub fn send(mailbox: &Mailbox, round: &RoundId, shown: Uuid, decision: Decision, device: &str) -> Result<Accepted> {
    let person = program::answerer(device, CHANNEL, Through::Web)?.in_own_words();
    // Words that are close to an option were asked back already.
    as_shown::answer(mailbox, round, shown, decision.given_by(&person), &person)
}

fn not_blank(words: String) -> Option<String> {
    Some(words).filter(|words| !words.trim().is_empty())
}
