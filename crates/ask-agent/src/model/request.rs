//! The body of a request.
//!
//! The API caches a request's beginning: tools, then the system prompt, then the messages. The beginning must be the same, byte by byte.
//! The history only grows, so each request begins with the one before it. Four marks tell the API where to keep a beginning: behind
//! the tools, behind the system prompt, and behind the last two messages of the user.

use serde_json::{Value, json};

use crate::history::History;

/// The model without `--model`, `$ANTHROPIC_MODEL` or a session.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// A request without its messages: what stays the same in a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub model: String,
    pub system: String,
    pub tools: Vec<Value>,
}

/// The longest text of a call or its result that a summary is made of, in bytes.
const LONGEST: usize = 1000;

/// The body. A reply has at most `max_tokens`. For a summary, the calls and their results are shortened, since they may not fit.
pub(crate) fn body(request: &Request, history: &History, session: &str, max_tokens: u64, summary: bool) -> Value {
    let mut tools = request.tools.clone();
    tools.last_mut().into_iter().for_each(keep);
    let mut system = json!([{ "type": "text", "text": request.system }]);
    keep(&mut system[0]);
    let mut messages = history.for_the_model();
    if summary {
        messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten().for_each(shorten);
        messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": include_str!("../prompts/summary.txt") }] }));
    }
    for message in messages.iter_mut().rev().filter(|message| message["role"] == "user").take(2) {
        message["content"].as_array_mut().and_then(|content| content.last_mut()).into_iter().for_each(keep);
    }
    let mut body = json!({
        "model": request.model,
        "max_tokens": max_tokens,
        "system": system,
        "tools": tools,
        "messages": null,
        "stream": true,
        "metadata": { "user_id": json!({ "session_id": session }).to_string() },
    });
    if summary && !request.tools.is_empty() {
        body["tool_choice"] = json!({ "type": "none" });
    }
    // Moved, because `json!` would copy them.
    body["messages"] = messages.into();
    body
}

/// Shortens a block, unless it is a text of a person or of the model.
fn shorten(block: &mut Value) {
    match block {
        Value::Object(block) if block.get("type").is_some_and(|kind| kind == "text") => {}
        Value::Object(map) => map.values_mut().for_each(shorten),
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::String(text) => text.truncate(text.floor_char_boundary(LONGEST)),
        _ => {}
    }
}

fn keep(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_begins_with_the_one_before() {
        fn without_marks(value: &mut Value) {
            match value {
                Value::Object(map) => {
                    map.shift_remove("cache_control");
                    map.values_mut().for_each(without_marks);
                }
                Value::Array(list) => list.iter_mut().for_each(without_marks),
                _ => {}
            }
        }
        let request = Request { model: "m".into(), system: "s".into(), tools: vec![json!({"name": "Read"}), json!({"name": "Bash"})] };
        let mut history = History::default();
        let mut before = String::new();
        for n in 0..5 {
            let input = json!({"x": 1.50, "b": n, "a": "é\n"});
            history.take(&json!({"type": "user", "uuid": format!("u{n}"), "message": {"content": format!("p{n}")}}));
            let mut body = body(&request, &history, "id", 1000, false);
            let marks = body.to_string().matches("cache_control").count();
            assert_eq!(marks, if n == 0 { 3 } else { 4 });
            without_marks(&mut body);
            let messages = body["messages"].to_string();
            assert!(messages.starts_with(&before), "{before}\n{messages}");
            before = messages.trim_end_matches(']').to_owned();
            let call = json!({"type": "tool_use", "id": format!("c{n}"), "name": "Bash", "input": input});
            history.take(&json!({"type": "assistant", "uuid": format!("a{n}"), "message": {"content": [call]}}));
            let result = json!([{"type": "tool_result", "tool_use_id": format!("c{n}"), "content": "ok"}]);
            history.take(&json!({"type": "user", "uuid": format!("r{n}"), "message": {"content": result}}));
        }
    }
}
