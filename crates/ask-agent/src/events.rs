//! The lines on standard output. They have the form of Claude Code's `stream-json`, so every program that reads that reads these.

use serde_json::{Value, json};

use crate::transcript::new_id;
use askbox_cli::args::ask_agent_args::Format;
use askbox_cli::program;

/// Standard output.
pub(crate) struct Events {
    session: String,
    pub format: Format,
    partial: bool,
}

impl Events {
    /// `partial`: with each piece of a reply while it is generated.
    pub fn new(session: &str, format: Format, partial: bool) -> Self {
        Self { session: session.into(), format, partial }
    }

    /// An event of the session: the turn begins (`init`), or a request is repeated (`api_retry`).
    pub fn system(&self, subtype: &str, mut about: Value) {
        about["type"] = "system".into();
        about["subtype"] = subtype.into();
        self.line(about);
    }

    /// The progress of a message that came on standard input.
    pub fn receipt(&self, uuid: &str, state: &str) {
        self.line(json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state }));
    }

    /// An event of the API, while a reply is generated.
    pub fn piece(&self, event: &Value, parent: Option<&str>) {
        if self.partial {
            self.line(json!({ "type": "stream_event", "event": event, "parent_tool_use_id": parent }));
        }
    }

    /// A reply of the model: one line for each of its blocks.
    pub fn reply(&self, message: &Value, parent: Option<&str>) {
        for block in message["content"].as_array().into_iter().flatten() {
            let mut message = message.clone();
            message["content"] = json!([block]);
            message["stop_reason"] = Value::Null;
            self.line(json!({ "type": "assistant", "message": message, "parent_tool_use_id": parent }));
        }
    }

    /// Content that the model reads: the result of a call, or a remark of this program.
    pub fn told(&self, content: &Value, parent: Option<&str>) {
        self.line(json!({ "type": "user", "message": { "role": "user", "content": [content] }, "parent_tool_use_id": parent }));
    }

    /// The turn is over.
    pub fn result(&self, mut result: Value, text: &str) {
        result["session_id"] = self.session.as_str().into();
        match self.format {
            Format::StreamJson => self.line(result),
            Format::Json => drop(program::write_json(&result.to_string())),
            Format::Text => drop(program::write(&format!("{}\n", text.trim_end()))),
        }
    }

    /// Any event, such as a request to the program at the other end.
    pub fn line(&self, mut line: Value) {
        if self.format == Format::StreamJson {
            line["session_id"] = self.session.as_str().into();
            line["uuid"] = new_id().into();
            // If the reader is gone, the work goes on: the transcript has it.
            let _ = program::write_json(&line.to_string());
        }
    }
}
