//! The question of an approval, as askbox writes it.

use askbox_mailbox::documents::fields::approval;
use askbox_mailbox::id::QuestionId;
use serde_json::{Value, json};

/// A question whether this call may be made; `text` shows the call.
pub fn approval_question(workflow: &str, text: &str) -> Value {
    json!({
        "workflow_id": workflow, "question": text, "type": "choice", "free_text": false, "options": approval::options(),
        "approval": {"tool": "Bash", "sha256": "ab".repeat(32)}, "question_id": QuestionId::generate(),
    })
}
