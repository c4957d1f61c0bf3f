//! An answer counts only for the question that the person saw: of its round, and with its text. The transition itself compares them, below the
//! workflow's lock.

use uuid::Uuid;

use crate::document;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::transitions::accept::{self, Accepted};
use crate::mailbox::who::answerer::Answerer;
use crate::mailbox::{Answer, Mailbox, Question};

/// A hash of what a person goes by. It leaves out what became of the question, and its id: a question that was made by hand is given one when
/// it is answered.
///
/// # Errors
/// If it is no JSON.
pub fn hash(question: &Question) -> Result<Uuid> {
    let asked = Question { question_id: None, answer: None, taken_back: None, closed: None, late_answers: Vec::new(), ..question.clone() };
    Ok(Uuid::new_v5(&question.hash()?, &document::to_json(&asked)?))
}

/// Whether a person goes by the same.
#[must_use]
pub fn is_same(one: &Question, other: &Question) -> bool {
    matches!((hash(one), hash(other)), (Ok(one), Ok(other)) if one == other)
}

/// Answers this round of a workflow, if it still asks what was shown.
///
/// # Errors
/// [`Error::Conflict`] if it does not, or if somebody else was first; [`Error::Invalid`] if the value does not fit.
pub fn answer(mailbox: &Mailbox, round: &RoundId, shown: Uuid, answer: Answer, person: &Answerer) -> Result<Accepted> {
    let reply = |question: &Question| {
        if hash(question)? == shown {
            return Ok(answer.clone());
        }
        Err(Error::conflict("the question was changed while you read it", "look at it again"))
    };
    match accept::answer_pending(mailbox, &round.workflow, Some(round.question), person, reply)? {
        Some(accepted) => Ok(accepted),
        // Says who was first, and keeps a late answer.
        None => accept::answer(mailbox, &round.workflow, Some(round.question), answer, person),
    }
}
