//! The result of a call, as the model reads it.

use serde_json::{Value, json};

use crate::history::Call;

/// What the model reads as the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub text: String,
    pub is_error: bool,
}

impl Outcome {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }

    /// The result as a block of the API.
    pub fn block(&self, call: &Call) -> Value {
        let mut block = json!({ "type": "tool_result", "tool_use_id": call.id, "content": self.text });
        if self.is_error {
            block["is_error"] = true.into();
        }
        block
    }
}
