//! The form of a question: the kind of its answer, what happens without one, and the parts of a batch.

use serde::{Deserialize, Serialize};

use crate::{Options, Range};

/// The kind of answer that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One of the options (or free text).
    Choice,
    /// Any of the options.
    MultiChoice,
    /// `yes` or `no`.
    YesNo,
    /// Free text.
    Text,
    /// A number.
    Number,
}

impl Kind {
    /// The names of all kinds, for messages and help.
    pub const NAMES: &'static str = "choice, multi_choice, yes_no, text, number";
}

/// What happens if nobody answers in time. A default applies only if the asker set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// The question stays open and is shown as overdue.
    #[default]
    Keep,
    /// The asker's `default` becomes the answer, `by: "default"`.
    Default,
    /// The round is closed as expired, and no agent is relaunched.
    Cancel,
}

/// One question of a batch.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Part {
    /// The key of its answer; `q1`, `q2` … if missing.
    pub id: Option<String>,
    /// The text.
    pub question: String,
    /// A short title, as in AskUserQuestion.
    pub header: Option<String>,
    /// The kind of answer; derived from options where it is missing.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// AskUserQuestion's name for `multi_choice`.
    #[serde(default, rename = "multiSelect", skip_serializing_if = "std::ops::Not::not")]
    pub multi_select: bool,
    /// The options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Whether text beside the options is allowed; it is unless this says `false`.
    pub free_text: Option<bool>,
    /// Which numbers are an answer, for the type `number`.
    pub range: Option<Range>,
}

impl Part {
    /// Returns a question of a batch that has only its text. `id` is the key of its answer.
    pub fn new(id: impl Into<String>, question: impl Into<String>) -> Self {
        Self { id: Some(id.into()), question: question.into(), ..Self::default() }
    }

    /// Returns the key of this part's answer: its `id`, else `q1`, `q2` and so on. `n` is its place in the batch, from zero.
    pub fn key(&self, n: usize) -> String {
        self.id.clone().unwrap_or_else(|| format!("q{}", n + 1))
    }

    /// Returns the kind of answer. If none is given, it is derived from the options.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or(match (self.multi_select, self.options.is_empty()) {
            (true, _) => Kind::MultiChoice,
            (false, false) => Kind::Choice,
            (false, true) => Kind::Text,
        })
    }
}
