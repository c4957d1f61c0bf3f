//! What a person decides about one question.

use crate::mailbox::who::caller::Caller;
use crate::mailbox::{Answer, AnswerValue};

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
    #[must_use]
    pub fn given_by(self, person: &Caller) -> Answer {
        match self {
            Self::Answer(value, note) => Answer { note: not_blank(note), ..person.value(value) },
            Self::Decline(why) => person.declined(not_blank(why)),
            Self::AskBack(question) => person.asking_back(question),
        }
    }
}

fn not_blank(words: String) -> Option<String> {
    Some(words).filter(|words| !words.trim().is_empty())
}
