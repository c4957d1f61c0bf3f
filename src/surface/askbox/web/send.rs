//! Sends what a person decided about the question that was shown, and about no other.

use uuid::Uuid;

use crate::document;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::documents::through::Through;
use crate::mailbox::transitions::accept::{self, Accepted};
use crate::mailbox::{Answer, AnswerValue, Mailbox, Question};
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

/// A hash of all of a question that a person goes by: of all but what became of it.
pub fn hash_of_shown(question: &Question) -> Result<Uuid> {
    let asked = Question { answer: None, taken_back: None, closed: None, late_answers: Vec::new(), ..question.clone() };
    Ok(Uuid::new_v5(&question.hash()?, &document::to_json(&asked)?))
}

/// Sends a decision about this round of a workflow, if it still asks what was shown.
///
/// # Errors
/// [`Error::Conflict`] if it does not, or if somebody else was first; [`Error::Invalid`] if the value does not fit.
pub fn send(mailbox: &Mailbox, round: &RoundId, shown: Uuid, decision: Decision, device: &str) -> Result<Accepted> {
    let person = program::answerer(device, CHANNEL, Through::Web)?.in_own_words();
    let answer = match decision {
        Decision::Answer(value, note) => Answer { note: not_blank(note), ..person.value(value) },
        Decision::Decline(why) => person.declined(not_blank(why)),
        Decision::AskBack(question) => person.asking_back(question),
    };
    let reply = |question: &Question| {
        if hash_of_shown(question)? == shown {
            return Ok(answer.clone());
        }
        Err(Error::conflict("the question was changed while you read it", "look at it again"))
    };
    // Words that are close to an option were asked back already.
    match accept::answer_pending(mailbox, &round.workflow, Some(round.question), &person, reply)? {
        Some(accepted) => Ok(accepted),
        // Says who was first, and keeps a late answer.
        None => accept::answer(mailbox, &round.workflow, Some(round.question), answer, &person),
    }
}

fn not_blank(words: String) -> Option<String> {
    Some(words).filter(|words| !words.trim().is_empty())
}
