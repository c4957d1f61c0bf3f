//! The subject of a document: a question, a task, or the ends of awaited workflows.

use crate::documents::awaited::Ended;

/// The subject of a document.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Content {
    /// A question for a person, or the answer to one.
    #[default]
    Question,
    /// A task of `relaunch run` or `relaunch spawn`. Its round begins in `running/`, and no person is asked.
    Task {
        /// The agent's task.
        prompt: String,
    },
    /// The ends of the awaited workflows. Its round begins in `running/`, and no person is asked.
    Results {
        /// The end of each awaited workflow.
        results: Vec<Ended>,
        /// The prompt of this workflow's first round, if it began with a task.
        prompt: Option<String>,
    },
}

/// The fields of a [`Content`], as they are spelled.
#[derive(schemars::JsonSchema)]
pub(in crate::documents) struct Told {
    /// The task of a document that is not a question but a task: see `Content`.
    pub(in crate::documents) prompt: Option<String>,
    /// How the awaited workflows ended, in a document that is not a question but reports them: see `Content`.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::documents) results: Vec<Ended>,
}

impl From<Told> for Content {
    fn from(Told { prompt, results }: Told) -> Self {
        match prompt {
            prompt if !results.is_empty() => Self::Results { results, prompt },
            Some(prompt) => Self::Task { prompt },
            None => Self::Question,
        }
    }
}

impl Content {
    /// True if a person is asked.
    pub fn asks_a_person(&self) -> bool {
        *self == Self::Question
    }

    /// Returns the fields `prompt` and `results`.
    pub(in crate::documents) fn spelled(&self) -> (Option<&str>, &[Ended]) {
        match self {
            Self::Question => (None, &[]),
            Self::Task { prompt } => (Some(prompt), &[]),
            Self::Results { results, prompt } => (prompt.as_deref(), results),
        }
    }
}
