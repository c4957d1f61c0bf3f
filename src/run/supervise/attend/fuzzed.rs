//! For `fuzz/`: what an MCP server asks, and what an answer means to it.

use serde_json::Value;

use crate::agent::stream::Elicitation;
use crate::id::WorkflowId;
use crate::mailbox::{AnswerValue, Question};
use crate::run::supervise::attend::elicited_form::Form;

/// A form that is understood.
pub struct Elicited {
    form: Form,
    /// The question to the user.
    pub question: Question,
}

impl Elicited {
    /// Reads a form.
    ///
    /// # Errors
    /// Why it is not understood.
    pub fn of(asked: &Elicitation, workflow: &WorkflowId) -> Result<Self, String> {
        let form = Form::of(asked)?;
        Ok(Self { question: form.question(workflow, asked, None), form })
    }

    /// What the server is told.
    ///
    /// # Errors
    /// Why the answer does not fit the form.
    pub fn content(&self, answer: &AnswerValue) -> Result<Value, String> {
        self.form.content(answer)
    }
}
