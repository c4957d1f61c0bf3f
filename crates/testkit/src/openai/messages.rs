//! The form of Anthropic: `/v1/messages`. The scripts of `claude/api.rs` can do more, and know one agent.

use serde_json::{Value, json};

use super::{Who, flat};

pub(super) fn of(body: &Value) -> Vec<(Who, String)> {
    let mut said = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match &message["content"] {
            _ if message["role"] == "assistant" => said.push((Who::Model, String::new())),
            Value::Array(blocks) => {
                for block in blocks {
                    if block["type"] == "tool_result" {
                        let all = body["messages"].as_array().into_iter().flatten();
                        let mut calls = all.flat_map(|message| message["content"].as_array().into_iter().flatten());
                        let answered = calls.find(|call| call["type"] == "tool_use" && call["id"] == block["tool_use_id"]);
                        said.extend(answered.map(|call| (Who::Answered, call["input"].to_string())));
                        said.push((Who::Result, flat(&block["content"])));
                    } else {
                        said.push((Who::User, block["text"].as_str().unwrap_or_default().to_owned()));
                    }
                }
            }
            text => said.push((Who::User, flat(text))),
        }
    }
    said
}

pub(super) fn events(step: &Value, call: &str) -> Vec<Value> {
    let (block, delta, why) = match step["tool"].as_str() {
        Some(tool) => (
            json!({"type": "tool_use", "id": format!("toolu_{call}"), "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": step["input"].to_string()}),
            "tool_use",
        ),
        None => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": step["text"]}), "end_turn"),
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let message = json!({"id": format!("msg_{call}"), "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}
