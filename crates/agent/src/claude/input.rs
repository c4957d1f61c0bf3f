//! The lines that `claude` reads on stdin.

use serde_json::{Value, json};

use crate::stream::FormReply;

/// A message to the agent. Its receipts carry the uuid. A session drops a message whose uuid it already has.
///
/// The agent reads the text as it is. Without `text_not_typed`, `claude` would treat the text as typed by its user. It would put the
/// file behind ` @/path` into the request, although no rule lets the agent read that file. It would also run a `/command` at the
/// beginning. `isSynthetic` does not help: the model would then read that its user's answer does not come from its user.
pub fn user_message(uuid: &str, text: &str) -> String {
    line(json!({
        "type": "user",
        "uuid": uuid,
        "text_not_typed": true,
        "message": { "role": "user", "content": text },
    }))
}

/// Asks for the agent's commands, models and agents. The agent sends a control reply with this id before any request to the API.
pub fn initialize(request_id: &str) -> String {
    request(request_id, "initialize")
}

/// Ends the turn at once; the process waits for the next message. The agent sends a control reply with this id.
pub fn interrupt(request_id: &str) -> String {
    request(request_id, "interrupt")
}

/// Permits the tool call.
pub fn permission_allow(request_id: &str) -> String {
    reply(request_id, json!({ "behavior": "allow" }))
}

/// Permits the tool call with another input, such as `AskUserQuestion` with its answers.
pub fn permission_allow_with(request_id: &str, input: &Value) -> String {
    reply(request_id, json!({ "behavior": "allow", "updatedInput": input }))
}

/// Refuses the tool call. The model is shown the message, and continues.
pub fn permission_deny(request_id: &str, message: &str) -> String {
    // Without a message, the agent tells the model that the reply was invalid.
    let message = if message.is_empty() { "not permitted" } else { message };
    reply(request_id, json!({ "behavior": "deny", "message": message }))
}

/// Refuses the tool call and ends the turn at once, without a request to the model.
pub fn permission_deny_and_end(request_id: &str, message: &str) -> String {
    reply(request_id, json!({ "behavior": "deny", "message": message, "interrupt": true }))
}

/// Answers a server's question to the user.
pub fn elicitation_reply(request_id: &str, said: &FormReply) -> String {
    reply(request_id, said.to_json())
}

/// Answers a request of a kind that askbox does not know. Without a reply, the agent would wait for it without end.
pub fn unknown_request(request_id: &str) -> String {
    line(json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": request_id, "error": "askbox does not know this kind of request" },
    }))
}

fn request(request_id: &str, subtype: &str) -> String {
    line(json!({ "type": "control_request", "request_id": request_id, "request": { "subtype": subtype } }))
}

fn reply(request_id: &str, response: Value) -> String {
    line(json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": request_id, "response": response },
    }))
}

/// One line with its line feed. It is always made from a JSON value, because a line that is not JSON ends the agent in the middle of
/// its turn.
fn line(message: Value) -> String {
    // JSON escapes control characters, so the only line feed is the last byte.
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_exactly_one_line_of_json_whatever_the_text() {
        let text = "a\nb\r\u{2028}\u{0}\"\\ é😀 {\"type\":\"user\"}\n";
        for message in [
            user_message("u", text),
            interrupt(text),
            initialize(text),
            permission_allow(text),
            permission_allow_with("r", &json!({"x": text})),
            permission_deny("r", text),
            unknown_request(text),
        ] {
            assert_eq!(message.matches('\n').count(), 1);
            assert!(message.ends_with('\n') && !message.contains('\r'));
            serde_json::from_str::<Value>(&message).unwrap();
        }
        let value: Value = serde_json::from_str(&user_message("u", text)).unwrap();
        assert_eq!((&value["uuid"], &value["message"]["content"]), (&json!("u"), &json!(text)));
        assert_eq!(value["text_not_typed"], true);
    }

    #[test]
    fn a_refusal_always_has_a_message() {
        assert!(permission_deny("r", "").contains(r#""message":"not permitted""#));
    }
}
