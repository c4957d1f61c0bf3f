//! What a document is about: a question, a task, or how the workflows ended that this one waited for.

use crate::mailbox::documents::awaited::Ended;

/// What a document is about.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Content {
    /// A question for a person, or the answer to one.
    #[default]
    Question,
    /// A task of `relaunch run` or `relaunch spawn`. Its round begins in `running/`, and nobody is asked.
    Task {
        /// What the agent is to do.
        prompt: String,
    },
    /// How the workflows ended that this one waited for. Its round begins in `running/`, and nobody is asked.
    Results {
        /// The ends.
        results: Vec<Ended>,
        /// The prompt that this workflow began with, if it began with a task.
        prompt: Option<String>,
    },
}

/// The fields of a [`Content`], as they are spelled.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(in crate::mailbox::documents) struct Told {
    /// The task of a document that is not a question but a task: see `Content`.
    pub(in crate::mailbox::documents) prompt: Option<String>,
    /// How the awaited workflows ended, in a document that is not a question but reports them: see `Content`.
    #[cfg_attr(feature = "schema", schemars(default, skip_serializing_if = "Vec::is_empty"))]
    pub(in crate::mailbox::documents) results: Vec<Ended>,
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
    /// The fields `prompt` and `results`.
    pub(in crate::mailbox::documents) fn spelled(&self) -> (Option<&str>, &[Ended]) {
        match self {
            Self::Question => (None, &[]),
            Self::Task { prompt } => (Some(prompt), &[]),
            Self::Results { results, prompt } => (prompt.as_deref(), results),
        }
    }
}
