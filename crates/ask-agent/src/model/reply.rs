//! Puts the events of a streamed reply together.

use serde_json::Value;

/// A reply, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    message: Value,
    blocks: Vec<Value>,
    /// The input of the tool call that is being generated, as JSON text.
    input: String,
    pub is_complete: bool,
}

impl Reply {
    /// Takes in one event.
    ///
    /// # Errors
    /// The API's words, if it reports an error in the middle of a reply; or what is wrong with the event.
    pub fn take(&mut self, event: &Value) -> Result<(), String> {
        let delta = &event["delta"];
        match event["type"].as_str() {
            Some("message_start") => self.message = event["message"].clone(),
            Some("content_block_start") => {
                self.blocks.push(event["content_block"].clone());
                self.input.clear();
            }
            Some("content_block_delta") => {
                let Some(block) = self.blocks.last_mut() else { return Err("a piece came before its block".into()) };
                match delta["type"].as_str() {
                    Some("text_delta") => append(&mut block["text"], &delta["text"]),
                    Some("thinking_delta") => append(&mut block["thinking"], &delta["thinking"]),
                    Some("signature_delta") => append(&mut block["signature"], &delta["signature"]),
                    Some("input_json_delta") => self.input.push_str(delta["partial_json"].as_str().unwrap_or_default()),
                    _ => {}
                }
            }
            Some("content_block_stop") if !self.input.trim().is_empty() => {
                let input = serde_json::from_str(&self.input).map_err(|e| format!("the input of a tool call is not JSON: {e}"))?;
                if let Some(block) = self.blocks.last_mut() {
                    block["input"] = input;
                }
            }
            Some("message_delta") => {
                self.message["stop_reason"] = delta["stop_reason"].clone();
                for (name, count) in event["usage"].as_object().into_iter().flatten() {
                    self.message["usage"][name] = count.clone();
                }
            }
            Some("message_stop") => self.is_complete = true,
            Some("error") => return Err(event["error"]["message"].as_str().unwrap_or("an error").to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// The whole message. The API does not take empty texts back, so they are left out.
    pub fn into_message(mut self) -> Value {
        self.blocks.retain(|block| block["type"] != "text" || block["text"] != "");
        self.message["content"] = Value::Array(self.blocks);
        self.message
    }

    /// The texts of a reply that was cut. Its thoughts and calls are void. `None` if it has no text.
    pub fn into_cut_message(mut self) -> Option<Value> {
        self.blocks.retain(|block| block["type"] == "text" && block["text"] != "");
        (!self.blocks.is_empty()).then(|| self.into_message())
    }
}

fn append(to: &mut Value, piece: &Value) {
    let text = [to.as_str().unwrap_or_default(), piece.as_str().unwrap_or_default()].concat();
    *to = text.into();
}

/// Adds the tokens of a reply to a sum.
pub(crate) fn add_usage(sum: &mut Value, usage: &Value) {
    for name in ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] {
        sum[name] = (sum[name].as_u64().unwrap_or(0) + usage[name].as_u64().unwrap_or(0)).into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_is_put_together_from_its_events() {
        let mut reply = Reply::default();
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
}
