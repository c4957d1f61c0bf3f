//! The same scripts in the words of OpenAI's Responses API, for SDKs that speak it.
//!
//! A request is kept as the Messages API would have sent it, so [`Request`](super::api::Request) and the scripts know only one form.

use serde_json::{Value, json};

/// The body of a request in the form of the Messages API.
pub fn as_messages(body: &Value) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let items = match &body["input"] {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    for item in items {
        let (role, block) = match item["type"].as_str() {
            Some("function_call") => {
                let input = item["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
                ("assistant", json!({"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": input}))
            }
            Some("function_call_output") => {
                ("user", json!({"type": "tool_result", "tool_use_id": item["call_id"], "content": text_of(&item["output"])}))
            }
            _ => {
                let role = if item["role"] == "assistant" { "assistant" } else { "user" };
                (role, json!({"type": "text", "text": text_of(&item["content"])}))
            }
        };
        // The items of one reply stand one after another, and a script counts replies.
        match messages.last_mut().filter(|last| last["role"] == role) {
            Some(last) => last["content"].as_array_mut().expect("a list of blocks").push(block),
            None => messages.push(json!({"role": role, "content": [block]})),
        }
    }
    json!({"model": body["model"], "messages": messages, "tools": body["tools"], "stream": body["stream"]})
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The events of a stream with this reply. Each item comes whole, and the deltas of its text or arguments before it.
pub fn events(reply: &Value) -> Vec<Value> {
    let mut begun = reply.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    for (n, item) in reply["output"].as_array().into_iter().flatten().enumerate() {
        let mut open = item.clone();
        open["status"] = "in_progress".into();
        let (empty, delta, kind) = match item["type"].as_str() {
            Some("message") => ("content", &item["content"][0]["text"], "response.output_text.delta"),
            _ => ("arguments", &item["arguments"], "response.function_call_arguments.delta"),
        };
        open[empty] = if empty == "content" { json!([]) } else { "".into() };
        events.push(json!({"type": "response.output_item.added", "output_index": n, "item": open}));
        events.push(json!({"type": kind, "item_id": item["id"], "output_index": n, "content_index": 0, "delta": delta, "logprobs": []}));
        events.push(json!({"type": "response.output_item.done", "output_index": n, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": reply}));
    for (n, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = n.into();
    }
    events
}

/// A whole reply of the Responses API with these content blocks.
pub fn response(id: &str, model: &Value, blocks: &[Value]) -> Value {
    let output: Vec<Value> = blocks.iter().enumerate().map(|(n, block)| item(&format!("{id}_{n}"), block)).collect();
    json!({
        "id": id, "object": "response", "created_at": 1_700_000_000, "status": "completed", "model": model, "output": output,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null, "incomplete_details": null, "instructions": null,
        "metadata": {}, "temperature": 1.0, "top_p": 1.0,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    })
}

fn item(id: &str, block: &Value) -> Value {
    if block["type"] == "text" {
        let text = json!({"type": "output_text", "text": block["text"], "annotations": []});
        return json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed", "content": [text]});
    }
    let arguments = block["input"].to_string();
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": block["id"], "name": block["name"], "arguments": arguments,
        "status": "completed"})
}
