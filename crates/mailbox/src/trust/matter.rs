//! The subject of a question, for the rules about who may decide.

use crate::{Question, WorkflowId};

/// The subject of a question, as far as it matters for who may decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// An agent wants to know something.
    Question,
    /// A tool call needs a permission.
    Approval,
    /// An MCP server asks something of the agent's user.
    Consent,
    /// The dialog of an attended session asks something of the session's user.
    Dialog,
}

impl Matter {
    /// Every value, for tables.
    pub const ALL: [Self; 4] = [Self::Question, Self::Approval, Self::Consent, Self::Dialog];

    /// Returns the subject of this question.
    pub fn of_question(question: &Question) -> Self {
        match question {
            question if question.live.is_some() => Self::Dialog,
            question if question.approval.is_some() => Self::Approval,
            question if question.elicited_by.is_some() => Self::Consent,
            _ => Self::Question,
        }
    }

    pub(crate) fn asks(self, workflow: &WorkflowId) -> String {
        match self {
            Self::Question => format!("{workflow} asks a question"),
            Self::Approval => format!("{workflow} asks whether a tool call may be made"),
            Self::Consent => format!("{workflow} asks for what an MCP server wants of its user"),
            Self::Dialog => format!("{workflow} is the dialog of a session, which asks its user"),
        }
    }
}
