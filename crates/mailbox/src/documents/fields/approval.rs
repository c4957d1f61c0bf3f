//! The field `approval` of a question that asks a person to allow one tool call, and the two options of such a question. Its rules
//! are in `check_question`.

use serde::{Deserialize, Serialize};

use crate::{Choice, Options, text};

/// The key of the option that allows the call once.
pub const ONCE: &str = "once";
/// The key of the option that allows the call whenever its workflow makes it.
pub const WORKFLOW: &str = "workflow";

/// The answer that allows the call once, with another text in place of its editable one. It is not an option of the question, and the text
/// stands in the field `edited` of the answer. A program that does not know it takes it for no approval.
pub const EDITED: &str = "edited";

/// The longest text in place of the editable one, in bytes.
pub const LONGEST_EDITED: usize = 32 << 10;

/// The text of a call that the person may change before they allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Editable {
    /// The field of the tool's input, such as `command`.
    pub field: String,
    /// The text of the field in the call.
    pub text: String,
}

/// Returns the lines in which a question shows one field of the input of a call. They are indented, so that none of them looks like a line
/// of askbox.
pub fn shown_field(name: &str, value: &str) -> String {
    let (name, value) = (on_a_line(name), text::visible(value));
    if value.contains('\n') {
        format!("    {name}:\n        {}\n", value.replace('\n', "\n        "))
    } else {
        format!("    {name}: {value}\n")
    }
}

/// Returns the text of [`text::visible`] on one line.
pub fn on_a_line(value: &str) -> String {
    text::visible(value).replace('\n', "\\u{a}")
}

/// The SHA-256 of a tool call: its tool, its folder and its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Display, schemars::JsonSchema)]
#[serde(transparent)]
pub struct CallHash(String);

impl CallHash {
    /// Returns the hash with these 32 bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(crate::text::hex(bytes))
    }

    /// True if it has the form of a SHA-256: 64 lowercase hexadecimal digits.
    pub(in crate::documents) fn is_valid(&self) -> bool {
        self.0.len() == 64 && self.0.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// The tool call that a person may allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Approval {
    /// The tool's name.
    pub tool: String,
    /// The hash of the call.
    pub sha256: CallHash,
    /// The text that the person may change. Missing if the call has no such text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editable: Option<Editable>,
}

impl Approval {
    /// True if both are about the same call. A question of an earlier version says nothing of the editable text.
    pub fn is_of(&self, call: &Self) -> bool {
        let fits = self.editable.is_none() || self.editable == call.editable;
        self.tool == call.tool && self.sha256 == call.sha256 && fits
    }
}

/// The command that takes a decision back, as the document names it.
const REVOKE: &str = "relaunch approve --revoke ID";

/// Returns the two options, with descriptions of what they allow.
pub fn options() -> Options {
    let choice = |key: &str, description: String| Choice { key: key.into(), description, preview: None };
    Options(vec![
        choice(ONCE, "allow exactly this call, one time".into()),
        choice(WORKFLOW, format!("allow exactly this call whenever this workflow makes it, until you revoke it: {REVOKE}")),
    ])
}

/// Puts the workflow into the command of a description, so that a person can copy it. The document has the same words for every workflow.
pub(in crate::documents) fn name_workflow(options: &mut Options, workflow: &crate::id::WorkflowId) {
    for Choice { description, .. } in &mut options.0 {
        if let Some(before) = description.strip_suffix(REVOKE) {
            *description = format!("{before}{} {workflow}", REVOKE.trim_end_matches(" ID"));
        }
    }
}
