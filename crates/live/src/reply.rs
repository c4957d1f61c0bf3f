//! The reply to a program, in its own form.

use serde_json::{Value, json};

use crate::wire::{Outgoing, RequestId};
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_run::{Reply, Request, Subject};

/// The path and the body of the reply. The extension of Copilot knows the call of its API by itself. opencode's
/// `always` and Copilot's `approve-for-session` would change the rules for the rest of the session, and are never sent.
pub(super) fn of(program: LiveProgram, id: RequestId, request: &Request, reply: Reply) -> Outgoing {
    let (path, body) = match program {
        LiveProgram::Opencode => to_opencode(id.as_str(), request, reply),
        LiveProgram::Copilot => (String::new(), to_copilot(reply)),
    };
    Outgoing { id, path, body }
}

fn to_opencode(id: &str, request: &Request, reply: Reply) -> (String, Value) {
    let (to_call, to_questions) = (format!("/permission/{id}/reply"), format!("/question/{id}/reply"));
    match (reply, request.subject) {
        (Reply::Answers(answers), _) => (to_questions, json!({ "answers": answers.lists() })),
        // It has no other place for the words.
        (Reply::Refuse { words, .. }, Subject::Questions) => {
            let asked = request.input.get("questions").and_then(Value::as_array).map_or(0, Vec::len);
            (to_questions, json!({ "answers": vec![[words]; asked] }))
        }
        // It ends the turn, as Esc does at the terminal.
        (Reply::Stop { .. }, Subject::Questions) => (format!("/question/{id}/reject"), json!({})),
        (Reply::Allow { .. }, _) => (to_call, json!({ "reply": "once" })),
        (Reply::Refuse { words, .. }, Subject::Call | Subject::Form) => (to_call, json!({ "reply": "reject", "message": words })),
        // A refusal without words ends the turn.
        (Reply::Stop { .. } | Reply::Form(_), _) => (to_call, json!({ "reply": "reject" })),
    }
}

fn to_copilot(reply: Reply) -> Value {
    match reply {
        Reply::Allow { .. } => json!({ "kind": "approve-once" }),
        Reply::Refuse { words, .. } => json!({ "kind": "reject", "feedback": words }),
        Reply::Stop { .. } | Reply::Answers(_) | Reply::Form(_) => json!({ "kind": "reject" }),
    }
}
