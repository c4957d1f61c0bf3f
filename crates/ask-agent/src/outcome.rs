//! The result of a call. It may hold an answer that was taken from the mailbox.

use serde_json::{Value, json};

use crate::history::Call;
use askbox_mailbox::{Mailbox, Result};
use askbox_run::asking::receipt::End;
use askbox_run::claim::{Claim, OnRecord};

/// The result of a call.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The words for the model.
    pub text: String,
    pub is_error: bool,
    /// The answer that was taken from the mailbox. It counts as delivered once the result is durable.
    pub taken: Option<Taken>,
    /// A hook ends the turn behind this call.
    pub ends_turn: bool,
}

impl Outcome {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
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

/// An answer that this process has claimed. If the process dies before it is delivered, the next one takes it again.
pub(crate) struct Taken {
    pub mailbox: Mailbox,
    pub claim: Box<Claim<OnRecord>>,
}

impl Taken {
    /// The answer has reached the session durably: its round is over.
    pub fn delivered(self) -> Result<()> {
        End::Confirmed.close(*self.claim, &self.mailbox, "ask-agent")
    }
}
