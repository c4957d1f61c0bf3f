//! The form of Gemini: `models/MODEL:streamGenerateContent`.

use serde_json::{Value, json};

use super::Who;

pub(super) fn of(body: &Value) -> Vec<(Who, String)> {
    let contents = body["contents"].as_array().into_iter().flatten();
    let mut said = Vec::new();
    for content in contents {
        if content["role"] == "model" {
            said.push((Who::Model, String::new()));
            continue;
        }
        for part in content["parts"].as_array().into_iter().flatten() {
            match (part.get("functionResponse"), part["text"].as_str()) {
                (Some(result), _) => {
                    let parts = body["contents"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .flat_map(|content| content["parts"].as_array().into_iter().flatten());
                    let mut calls = parts.filter_map(|part| part.get("functionCall"));
                    let answered = calls.find(|call| call["id"] == result["id"] && call["name"] == result["name"]);
                    said.extend(answered.map(|call| (Who::Answered, call["args"].to_string())));
                    said.push((Who::Result, result["response"].to_string()));
                }
                (None, Some(text)) => said.push((Who::User, text.to_owned())),
                (None, None) => {}
            }
        }
    }
    said
}

pub(super) fn events(step: &Value, call: &str) -> Vec<Value> {
    let part = match step["tool"].as_str() {
        Some(tool) => json!({"functionCall": {"id": call, "name": tool, "args": step["input"]}}),
        None => json!({"text": step["text"]}),
    };
    let candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0, "finishReason": "STOP"});
    vec![json!({"candidates": [candidate], "modelVersion": "scripted", "responseId": call,
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}})]
}
