//! Puts the events of a streamed reply together.

use serde_json::{Map, Value, json};

use crate::model::api::Failure;
use askbox_mailbox::text;

/// The input of a call that was cut, or is not JSON for another reason, as Claude Code writes it. Such a call is not made.
pub(crate) const UNPARSED: &str = "__unparsedToolInput";

/// A reply, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct ModelReply {
    message: Map<String, Value>,
    blocks: Vec<Map<String, Value>>,
    /// The input of the tool call that is being generated, as JSON text.
    input: String,
    pub is_complete: bool,
}

impl ModelReply {
    /// Takes in one event.
    ///
    /// # Errors
    /// The API's error in the middle of a reply; or what is wrong with the event.
    pub fn take(&mut self, event: &Value) -> Result<(), Failure> {
        let delta = &event["delta"];
        match event["type"].as_str() {
            Some("message_start") => self.message = object(&event["message"])?,
            Some("content_block_start") => {
                self.blocks.push(object(&event["content_block"])?);
                self.input.clear();
            }
            Some("content_block_delta") => {
                let Some(block) = self.blocks.last_mut() else { return Err(Failure::broken("a piece came before its block")) };
                ["text", "thinking", "signature"].iter().for_each(|name| append(block, name, delta));
                self.input.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            Some("content_block_stop") if !self.input.trim().is_empty() => {
                let unparsed = || json!({ UNPARSED: { "raw": text::excerpt(&self.input, 200), "len": self.input.len() } });
                let input = serde_json::from_str(&self.input).unwrap_or_else(|_| unparsed());
                if let Some(block) = self.blocks.last_mut() {
                    block.insert("input".into(), input);
                }
            }
            Some("message_delta") => {
                self.message.insert("stop_reason".into(), delta["stop_reason"].clone());
                let mut usage = self.message.get("usage").and_then(Value::as_object).cloned().unwrap_or_default();
                usage.extend(event["usage"].as_object().cloned().unwrap_or_default());
                self.message.insert("usage".into(), usage.into());
            }
            Some("message_stop") => self.is_complete = true,
            Some("error") => return Err(Failure::of_error(&event["error"], None)),
            _ => {}
        }
        Ok(())
    }

    /// The whole message. The API does not take empty texts back, so they are left out.
    pub fn into_message(mut self) -> Value {
        self.blocks.retain(|block| block.get("text").is_none_or(|words| words != ""));
        self.message.insert("content".into(), self.blocks.into());
        self.message.into()
    }

    /// The texts of a reply that was cut. Its thoughts and calls are void. `None` if it has no text.
    pub fn into_cut_message(mut self) -> Option<Value> {
        self.blocks.retain(|block| block.get("type").is_some_and(|kind| kind == "text"));
        Some(self.into_message()).filter(|message| message["content"] != json!([]))
    }
}

/// A part of the reply. The API sends no other form than an object.
fn object(part: &Value) -> Result<Map<String, Value>, Failure> {
    part.as_object().cloned().ok_or_else(|| Failure::broken("a part of the reply is not an object"))
}

/// Adds a piece to the text with this name.
fn append(block: &mut Map<String, Value>, name: &str, delta: &Value) {
    let Some(piece) = delta[name].as_str() else { return };
    let so_far = block.get(name).and_then(Value::as_str).unwrap_or_default();
    block.insert(name.to_owned(), [so_far, piece].concat().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_put_together_from_its_events() {
        let mut reply = ModelReply::default();
        for event in [
            json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": {"input_tokens": 3, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I re"}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ad."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "Read", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"file_"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "path\": \"a\"}"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ] {
            reply.take(&event).unwrap();
        }
        assert!(reply.is_complete);
        let message = reply.into_message();
        let content =
            json!([{"type": "text", "text": "I read."}, {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a"}}]);
        assert_eq!((&message["content"], &message["stop_reason"]), (&content, &json!("tool_use")));
        assert_eq!(message["usage"], json!({"input_tokens": 3, "output_tokens": 9}));
    }

    #[test]
    fn a_reply_in_another_form_is_an_error() {
        let begun = json!({"type": "message_start", "message": {"id": "m", "usage": "x"}});
        let block = |block: Value| json!({"type": "content_block_start", "content_block": block});
        let piece = |kind: &str| json!({"type": "content_block_delta", "delta": {"type": kind, "text": [1]}});
        for events in [
            vec![json!({"type": "message_start", "message": "m"})],
            vec![json!({"type": "message_start"})],
            vec![begun.clone(), block(json!("text"))],
            vec![begun.clone(), block(json!([]))],
            vec![begun.clone(), piece("text_delta")],
        ] {
            let mut reply = ModelReply::default();
            assert!(events.iter().map(|event| reply.take(event)).any(|taken| taken.is_err()), "{events:?}");
        }
        let mut reply = ModelReply::default();
        let usage = json!({"type": "message_delta", "usage": {"output_tokens": 9}});
        for event in [begun, block(json!({"type": "text", "text": 7})), piece("text_delta"), piece("thinking_delta"), usage, json!("x")] {
            reply.take(&event).unwrap();
        }
        assert_eq!(reply.into_message()["usage"]["output_tokens"], 9);
    }
}
