//! The end of a round, or of an answer: the fields `closed` and `taken_back` of the document.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Answer, Time, text, time};

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Closing {
    /// The end.
    pub state: Closed,
    /// When it ended.
    pub at: Time,
    /// Who ended it.
    pub by: String,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Closing {
    /// Returns an end that happens now.
    pub fn now(state: Closed, by: impl Into<String>, why: Option<String>) -> Self {
        Self { state, at: time::now(), by: by.into(), why }
    }
}

/// An answer that its person took back, or that was refused, before any process had it: the field `taken_back` of the question, which waits again.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TakenBack {
    /// When it was taken back.
    pub at: Time,
    /// Who took it back.
    pub by: String,
    /// Who had given it, and through what.
    pub answer: String,
    /// Why it was refused, if nobody took it back: the operator does not trust it.
    pub refused: Option<String>,
    /// The offer by which it had come from another machine.
    pub offer_id: Option<Uuid>,
    /// The signed answers to this question that were ever taken back: the SHA-256 of each one's signed bytes, in hexadecimal. They
    /// do not count again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
    /// The answers to the same question that were taken back before, the oldest first: at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<TakenBack>,
}

/// The limit of [`TakenBack::before`]. The oldest entries are dropped.
pub const MAX_BEFORE: usize = 20;

impl TakenBack {
    /// Returns the record of an answer that is taken back now. `refused` is the reason if the operator does not trust the answer.
    /// `earlier` is the question's last such record, which is kept in [`before`](Self::before). `withdrawn` is the hash of the answer,
    /// if it must not count again.
    pub fn now(by: &str, answer: &Answer, refused: Option<&str>, withdrawn: Option<String>, earlier: Option<Self>) -> Self {
        let (mut before, mut all_withdrawn) = (Vec::new(), Vec::new());
        if let Some(mut last) = earlier {
            before = std::mem::take(&mut last.before);
            all_withdrawn = std::mem::take(&mut last.withdrawn);
            before.push(last);
            before.drain(..before.len().saturating_sub(MAX_BEFORE));
        }
        all_withdrawn.extend(withdrawn);
        // The texts are cut, because the document's length is limited.
        let (by, refused) = (text::excerpt(by, 256), refused.map(|why| text::excerpt(why, 500)));
        Self { at: time::now(), by, answer: answer.said_by(), refused, offer_id: answer.offer_id, withdrawn: all_withdrawn, before }
    }
}

/// The ends of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Closed {
    /// The agent received the answer, or was told that the question was declined.
    Delivered,
    /// The question was taken back before it was answered.
    Withdrawn,
    /// Nobody answered in time, and the asker chose `cancel`.
    Expired,
    /// The asker replaced the question by another one.
    Superseded,
    /// A parked round was given up.
    Dropped,
}

crate::words!(Closed);

impl Closed {
    /// Returns the words that tell how a round ended, behind its name: `has expired`, `was withdrawn`.
    pub fn in_a_sentence(self) -> &'static str {
        match self {
            Self::Delivered => "was delivered",
            Self::Withdrawn => "was withdrawn",
            Self::Expired => "has expired",
            Self::Superseded => "was superseded",
            Self::Dropped => "was dropped",
        }
    }
}
