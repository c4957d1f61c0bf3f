//! The tool calls of a turn: each is told once when its input is known, and once when it has ended.
//!
//! Agents differ. Some name a call first and say later what it is to do. Some send an update about a call that they have not named. Some
//! repeat the end of a call.

use std::collections::VecDeque;

use agent_client_protocol_schema::v1::{ContentBlock, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind};
use serde_json::Value;

use crate::acp::tool;
use crate::events::EventKind;
use crate::stream::StreamItem;
use crate::stream::bounded::{NAME, head};
use crate::stream::ledger::{Ledger, RESULT_TEXT};
use askbox_mailbox::untrusted::Untrusted;

/// The most calls that are remembered. The oldest is forgotten first.
const REMEMBERED: usize = 256;
/// The longest string that is kept of a call's input in an event, in bytes. The same limit as for `claude`.
const LARGEST_INPUT: usize = 64 << 10;

/// One call.
#[derive(Debug, Default)]
pub(super) struct Call {
    id: String,
    own_name: Option<String>,
    title: String,
    kind: ToolKind,
    raw_input: Option<Value>,
    locations: Vec<ToolCallLocation>,
    is_told: bool,
    is_over: bool,
}

impl Call {
    fn learn(&mut self, update: &ToolCallUpdate) {
        let fields = &update.fields;
        if let Some(kind) = fields.kind {
            self.kind = kind;
        }
        if let Some(title) = &fields.title {
            self.title = head(title, 4096).to_owned();
        }
        if let Some(name) = fields.name.as_deref().or_else(|| name_in(update.meta.as_ref())) {
            self.own_name = Some(head(name, NAME).to_owned());
        }
        if tool::is_told(fields.raw_input.as_ref()) {
            self.raw_input.clone_from(&fields.raw_input);
        }
        if let Some(locations) = fields.locations.as_ref().filter(|all| !all.is_empty()) {
            self.locations = locations.iter().take(32).cloned().collect();
        }
    }

    /// The name and the input.
    pub(super) fn words(&self) -> (Untrusted, Value) {
        let input = tool::input(self.raw_input.as_ref(), &self.title, &self.locations);
        (tool::name(self.kind, self.own_name.as_deref(), &self.title, &input), input)
    }

    /// True if the agent has said what the call is to do. A title is the agent's own summary, and nobody can decide about that.
    pub(super) fn has_input(&self) -> bool {
        tool::is_told(self.raw_input.as_ref())
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }
}

/// claude's adapter names its tools beside the call.
fn name_in(meta: Option<&serde_json::Map<String, Value>>) -> Option<&str> {
    meta?.get("claudeCode")?.get("toolName")?.as_str()
}

/// The meaning of an update about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The model has made another call.
    Begun,
    /// The call has ended.
    Ended,
    /// Neither.
    None,
}

/// The calls of a turn.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(VecDeque<Call>);

impl OpenCalls {
    /// Takes in an update about a call, which may be the first. `is_asked` says that the agent asks for a permission to make it, so that
    /// nothing more will be said about its input.
    pub(super) fn update(&mut self, update: &ToolCallUpdate, is_asked: bool, ledger: &mut Ledger, items: &mut Vec<StreamItem>) -> News {
        let id = head(&update.tool_call_id.0, NAME);
        let (call, is_new) = self.call(id);
        if call.is_over {
            return News::None;
        }
        call.learn(update);
        let ended = match update.fields.status {
            Some(ToolCallStatus::Completed) => Some(false),
            Some(ToolCallStatus::Failed) => Some(true),
            _ => None,
        };
        if !call.is_told && (call.raw_input.is_some() || is_asked || ended.is_some()) {
            call.is_told = true;
            items.push(told(call, ledger));
        } else if is_new {
            items.push(StreamItem::Generating(crate::stream::Generating::ToolInput));
        }
        match ended {
            Some(is_error) => {
                call.is_over = true;
                items.push(result(call, is_error, update, ledger));
                News::Ended
            }
            None if is_new => News::Begun,
            None => News::None,
        }
    }

    /// The call with this id.
    pub(super) fn find(&self, id: &str) -> Option<&Call> {
        self.0.iter().rev().find(|call| call.id == head(id, NAME))
    }

    /// The call with this id, and whether it was not known before.
    fn call(&mut self, id: &str) -> (&mut Call, bool) {
        let known = self.0.iter().rposition(|call| call.id == id);
        if known.is_none() {
            if self.0.len() == REMEMBERED {
                self.0.pop_front();
            }
            self.0.push_back(Call { id: id.to_owned(), ..Call::default() });
        }
        let at = known.unwrap_or(self.0.len() - 1);
        (&mut self.0[at], known.is_none())
    }
}

fn told(call: &Call, ledger: &mut Ledger) -> StreamItem {
    let (name, input) = call.words();
    let json = input.to_string();
    let file = call.locations.first().filter(|_| call.kind == ToolKind::Edit).map(|place| place.path.display().to_string().into());
    ledger.called(&call.id, name.raw(), &json, file);
    let input = if json.len() > LARGEST_INPUT { Value::String(format!("{}…", head(&json, RESULT_TEXT))) } else { input };
    StreamItem::Event(EventKind::ToolCall { id: call.id.as_str().into(), name, input, parent: None })
}

fn result(call: &Call, is_error: bool, update: &ToolCallUpdate, ledger: &mut Ledger) -> StreamItem {
    let (text, bytes) = text_of(update);
    let id = Untrusted::from(call.id.as_str());
    let name = ledger.answered(&id, is_error, &text, bytes);
    StreamItem::Event(EventKind::ToolResult { id, name, is_error, text: text.into(), bytes, parent: None })
}

/// The beginning of a result's text, and the size of the whole text.
fn text_of(update: &ToolCallUpdate) -> (String, u64) {
    let mut parts: Vec<&str> = Vec::new();
    for content in update.fields.content.iter().flatten() {
        if let ToolCallContent::Content(content) = content
            && let ContentBlock::Text(text) = &content.content
        {
            parts.push(&text.text);
        }
    }
    let raw;
    if parts.is_empty() {
        raw = match &update.fields.raw_output {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        parts.push(&raw);
    }
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    (head(&parts.join("\n"), RESULT_TEXT).to_owned(), bytes)
}
