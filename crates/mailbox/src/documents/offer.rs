//! An offer: an answer that was given on another machine. The machine that has the question decides whether it counts, and returns
//! a verdict.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::documents::answer::MAX_ANSWER;
use crate::{Answer, Error, QuestionId, Result, RoundId, Shown, WorkflowId};

/// The longest offer, in bytes of its JSON. It leaves room for an answer with every character escaped.
pub const MAX_OFFER: u64 = 6 * MAX_ANSWER as u64 + (64 << 10);

/// The longest name of the person who answered, in bytes.
const MAX_BY: usize = 256;

/// The longest note, in bytes.
const MAX_NOTE: usize = 64 << 10;

/// An answer that was given on another machine, for one round, as it was shown there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Offer {
    /// Names the offer; chosen by its sender. The same offer twice counts once.
    pub offer_id: Uuid,
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The round that was shown.
    pub question_id: QuestionId,
    /// The hash of the text of the question that was shown.
    pub question_hash: Uuid,
    /// The hash of everything that was shown. Missing in an offer of an earlier version, and for a question of a machine of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The answer.
    pub answer: Answer,
    /// Whether the person was asked already if the answer is close to an option, and meant these words.
    #[serde(default)]
    pub own_words: bool,
}

impl Offer {
    /// Returns a new offer of this answer, with a new id. See [`Offer`] for the arguments.
    pub fn new(round: &RoundId, question_hash: Uuid, shown: Option<Shown>, answer: Answer, own_words: bool) -> Self {
        let offer_id = Uuid::now_v7();
        Self { offer_id, workflow_id: round.workflow.clone(), question_id: round.question, question_hash, shown, answer, own_words }
    }

    /// Returns the round of the offer.
    pub fn round(&self) -> RoundId {
        RoundId { workflow: self.workflow_id.clone(), question: self.question_id }
    }

    /// Refuses an offer that no askbox would send.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name or the channel is missing or too long, or if the note is too long.
    pub fn check(&self) -> Result<()> {
        let by = self.answer.by.trim();
        if by.is_empty() || by.len() > MAX_BY {
            return Err(Error::invalid("answer.by", "is no name of a person", "write the name of the person who answers"));
        }
        if self.answer.channel.is_empty() || self.answer.channel.len() > MAX_BY {
            return Err(Error::invalid("answer.channel", "is missing or too long", "write through what the person answered"));
        }
        if self.answer.note.as_ref().is_some_and(|note| note.len() > MAX_NOTE) {
            return Err(Error::invalid("answer.note", format!("is longer than {MAX_NOTE} bytes"), "shorten it"));
        }
        Ok(())
    }
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    /// It is the answer of its round.
    Accepted,
    /// Another person's answer was first, or it was taken back there.
    Lost,
    /// The round ended before without a person's answer: it expired, was withdrawn, or its default applied. A late answer is kept.
    Closed,
    /// The workflow asks another question by now, or this one has changed.
    Changed,
    /// The answer does not fit the question.
    Invalid,
}

/// What the machine that has the question says to an offer. It is final: the same offer gets the same verdict again.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    /// The offer.
    pub offer_id: Uuid,
    /// What became of it.
    pub decided: Decided,
    /// In words: what was accepted, who won, what is wrong.
    pub said: String,
    /// What can be done now.
    pub hint: Option<String>,
    /// What did not work beside it, though it was accepted.
    pub warning: Option<String>,
}
