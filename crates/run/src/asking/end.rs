//! The three ends of an answer that was sent to a session's dialog, in the words of every view. Without proof from the
//! session, its transcript or a person, an answer is *sent, not known yet*, for however long. No end follows from a time.

use serde::Serialize;

use crate::approval::permit;
use crate::claim::{Claim, OnRecord};
use askbox_mailbox::{Closed, Closing, Mailbox, Question, Result, WorkflowId};

/// The end, as it is known now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum End {
    /// The session has taken the answer.
    Confirmed,
    /// The answer did not reach its session.
    TooLate {
        /// Who was first, with what; or why the answer could not be given. A sentence about "it", the answer.
        why: String,
    },
    /// The answer was sent, and nobody has told what became of it.
    #[serde(rename = "sent")]
    NotKnownYet,
}

/// The words for [`End::NotKnownYet`].
pub const NOT_KNOWN_YET: &str = "sent, not known yet: the session has not shown if it took the answer";
/// The reason if the session asks the same again, so that it has not taken the answer.
pub const ASKS_AGAIN: &str = "it did not reach the session, which asks the same again";
/// The reason if the process that took the answer ended before it sent it.
pub const NOT_SENT: &str = "it was not sent: the process beside the dialog ended before that";

/// The commands for a person who knows how a sent answer ended.
pub fn if_you_know(workflow: &WorkflowId) -> String {
    format!("if you know that the session took it: relaunch done {workflow}; if it did not: relaunch drop {workflow}")
}

impl End {
    /// The answer came too late: the dialog had ended in this way.
    pub fn too_late(how: &str) -> Self {
        Self::TooLate { why: format!("it came too late: {how}") }
    }

    /// The answer was claimed, and was not given to its session.
    pub fn not_given(why: &str) -> Self {
        Self::TooLate { why: format!("it could not be given to the session, whose dialog stays open: {why}") }
    }

    /// The end of the answer to a dialog's question.
    pub fn of(question: &Question) -> Self {
        match &question.closed {
            None => Self::NotKnownYet,
            Some(Closing { state: Closed::Delivered, .. }) => Self::Confirmed,
            Some(Closing { why, state, .. }) => Self::TooLate { why: why.clone().unwrap_or_else(|| state.in_a_sentence().to_owned()) },
        }
    }

    /// The end in words, for whoever sent the answer.
    pub fn words(&self) -> String {
        match self {
            Self::Confirmed => "confirmed: the session has taken the answer".to_owned(),
            Self::TooLate { why } => why.clone(),
            Self::NotKnownYet => NOT_KNOWN_YET.to_owned(),
        }
    }

    /// Closes the claimed round with this end. As long as the end is not known, the round stays open: whoever learns the end closes it.
    ///
    /// # Errors
    /// If the round cannot be closed now.
    pub fn close(&self, claim: Claim<OnRecord>, mailbox: &Mailbox, by: &str) -> Result<()> {
        match self {
            Self::Confirmed => {
                let round = claim.round();
                if let Some(answer) = claim.document.typed.answer.as_ref().filter(|_| permit::is_used(mailbox, &round)) {
                    permit::record(mailbox, &round, answer);
                }
                claim.delivered(mailbox, by)
            }
            Self::TooLate { why } => claim.superseded(mailbox, by, why),
            Self::NotKnownYet => Ok(()),
        }
    }
}
