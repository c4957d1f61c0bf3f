//! The tool calls of a turn: each is told once when its input is known, and once when it has ended.
//!
//! Agents differ. Some name a call first and say later what it is to do. Some send an update about a call that they have not named. Some
//! repeat the end of a call. Some tell the input as a text before the permission, or the output beside the content.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ContentBlock, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind};
use serde_json::Value;

use crate::protocol::unread::Subject;
use crate::protocol::{own_server, tool};
use askbox_agent::presets::{McpNames, Preset};
use askbox_agent::stream::bounded::{NAME, head};
use askbox_agent::stream::ledger::{Ledger, RESULT_TEXT};
use askbox_agent::{EventKind, StreamItem};
use askbox_mailbox::Untrusted;
use askbox_mailbox::documents::fields::tool_call::{NEED_NO_APPROVAL, SERVER};

/// The most calls that are remembered. The oldest is forgotten first.
const REMEMBERED: usize = 256;
/// The longest string that is kept of a call's input in an event, in bytes. The same limit as for `claude`.
const LARGEST_INPUT: usize = 64 << 10;

/// One call.
#[derive(Debug, Default)]
pub(super) struct Call {
    id: String,
    own_name: Option<String>,
    /// The title in the request for a permission.
    asked_title: Option<String>,
    /// True if the agent program marks the call as one of an MCP tool.
    is_marked_as_mcp: bool,
    pub(super) title: String,
    kind: ToolKind,
    raw_input: Option<Value>,
    /// The text in the content of the call before it has begun.
    text_before: Option<String>,
    /// The beginning of the output of a terminal, and its bytes so far.
    output: (String, u64),
    locations: Vec<ToolCallLocation>,
    /// The changes of files that the agent told last.
    changes: Vec<Value>,
    /// True if a message about the call was not read, or not whole.
    is_cut: bool,
    is_begun: bool,
    is_told: bool,
    is_over: bool,
}

impl Call {
    /// `is_asked`: the update is a request for a permission. Its content are words for a person.
    fn learn(&mut self, update: &ToolCallUpdate, is_asked: bool) {
        let fields = &update.fields;
        if let Some(kind) = fields.kind {
            self.kind = kind;
        }
        if let Some(title) = &fields.title {
            self.title = head(title, 4096).to_owned();
            self.asked_title = is_asked.then(|| self.title.clone()).or(self.asked_title.take());
        }
        self.is_marked_as_mcp |= update.meta.as_ref().is_some_and(|meta| meta.get("is_mcp_tool_call") == Some(&Value::Bool(true)));
        if let Some(name) = fields.name.as_deref().or_else(|| name_in(update.meta.as_ref())) {
            self.own_name = Some(head(name, NAME).to_owned());
        }
        if tool::is_told(fields.raw_input.as_ref()) {
            self.raw_input.clone_from(&fields.raw_input);
        }
        let changes: Vec<_> = fields.content.iter().flatten().filter_map(tool::change).collect();
        if !changes.is_empty() {
            self.changes = changes;
        }
        if !is_asked && self.raw_input.is_none() {
            self.text_before = only_text(update).map(str::to_owned).or(self.text_before.take());
        }
        if let Some(piece) = terminal_output(update.meta.as_ref()) {
            self.output.1 += piece.len() as u64;
            let room = RESULT_TEXT.saturating_sub(self.output.0.len());
            self.output.0.push_str(head(piece, room));
        }
        if let Some(locations) = fields.locations.as_ref().filter(|all| !all.is_empty()) {
            self.locations = locations.iter().take(tool::PLACES).cloned().collect();
            self.is_cut |= locations.len() > tool::PLACES;
        }
    }

    /// Takes the text of the content as the input, if it is one.
    fn read_input_in_text(&mut self) {
        let input = self.text_before.take().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        self.raw_input = input.filter(|input| input.is_object() && tool::is_told(Some(input)));
    }

    /// Takes the title of a request about a shell call as its command, if the title and the place of the command are whole.
    fn read_command_in_title(&mut self, asked: &ToolCallUpdate, cwd: &Path) {
        let title = asked.fields.title.as_deref().filter(|title| !title.is_empty() && self.kind == ToolKind::Execute);
        self.raw_input = title.zip(only_text(asked)).map(|(command, place)| tool::command_with_place(command, place, cwd));
    }

    /// The name of an MCP tool, if the agent program itself tells it at this place.
    fn mcp_name(&self, place: McpNames) -> Option<String> {
        let name = match place {
            McpNames::NotKnown => None,
            McpNames::NameOfCall => self.own_name.clone(),
            McpNames::MarkedInput => {
                let input = self.raw_input.as_ref().filter(|_| self.is_marked_as_mcp)?;
                Some(own_server::name_of_tool(input["server"].as_str()?, input["tool"].as_str()?))
            }
            McpNames::TitleOfRequest => self.asked_title.clone().filter(|_| self.kind == ToolKind::Other),
        };
        name.filter(|name| name.starts_with("mcp__"))
    }

    fn words(&self, place: McpNames) -> (Untrusted, Value) {
        let input = tool::input(self.raw_input.as_ref(), &self.title, &self.locations, &self.changes);
        let name = self.mcp_name(place).map(|name| head(&name, NAME).into());
        (name.unwrap_or_else(|| tool::name(self.kind, self.own_name.as_deref(), &self.title, &input)), input)
    }
}

/// claude's adapter and qwen name their tools beside the call.
fn name_in(meta: Option<&serde_json::Map<String, Value>>) -> Option<&str> {
    let meta = meta?;
    meta.get("claudeCode").unwrap_or(&Value::Null).get("toolName").or_else(|| meta.get("toolName"))?.as_str()
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
#[derive(Debug)]
pub(super) struct OpenCalls {
    calls: VecDeque<Call>,
    /// True if a message was not read that may have been about any call.
    all_are_cut: bool,
    agent: Preset,
    /// The working folder of the session.
    cwd: PathBuf,
}

impl OpenCalls {
    pub(super) fn new(agent: Preset, cwd: &Path) -> Self {
        Self { calls: VecDeque::new(), all_are_cut: false, agent, cwd: cwd.to_owned() }
    }

    /// Takes in an update about a call, which may be the first. `is_asked` says that the agent asks for a permission to make it, so that
    /// nothing more will be said about its input.
    pub(super) fn update(&mut self, update: &ToolCallUpdate, is_asked: bool, ledger: &mut Ledger, items: &mut Vec<StreamItem>) -> News {
        let id = head(&update.tool_call_id.0, NAME);
        let (agent, cwd) = (self.agent, self.cwd.clone());
        let call = self.call(id);
        let is_new = !std::mem::replace(&mut call.is_begun, true);
        if call.is_over {
            return News::None;
        }
        call.learn(update, is_asked);
        if is_asked && agent.tells_input_as_text && call.raw_input.is_none() {
            call.read_input_in_text();
        }
        if is_asked && agent.tells_command_as_title && call.raw_input.is_none() {
            call.read_command_in_title(update, &cwd);
        }
        let ended = match update.fields.status {
            Some(ToolCallStatus::Completed) => Some(false),
            Some(ToolCallStatus::Failed) => Some(true),
            _ => None,
        };
        if !call.is_told && (call.raw_input.is_some() || is_asked || ended.is_some()) {
            call.is_told = true;
            items.push(told(call, agent.mcp_names, ledger));
        } else if is_new {
            items.push(StreamItem::Generating(askbox_agent::stream::Generating::ToolInput));
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

    /// Notes that a message was not read, or not whole. The call of the message may become known later.
    pub(super) fn note_cut(&mut self, subject: &Subject) {
        match subject {
            Subject::NoCall => {}
            Subject::Call(id) => self.call(head(id, NAME)).is_cut = true,
            Subject::AnyCall => self.all_are_cut = true,
        }
    }

    /// The call with this id.
    pub(super) fn find(&self, id: &str) -> Option<&Call> {
        self.calls.iter().rev().find(|call| call.id == head(id, NAME))
    }

    /// The name and the input of a call.
    pub(super) fn words(&self, call: &Call) -> (Untrusted, Value) {
        call.words(self.agent.mcp_names)
    }

    /// True if the call surely is one of a tool of askbox that needs no permission. No such call changes a file.
    pub(super) fn is_own_tool(&self, call: &Call) -> bool {
        let is_certain = !self.all_are_cut && !call.is_cut && call.changes.is_empty();
        let name = call.mcp_name(self.agent.mcp_names).filter(|_| is_certain);
        name.is_some_and(|name| NEED_NO_APPROVAL.iter().any(|tool| name == own_server::name_of_tool(SERVER, tool)))
    }

    /// True if the agent has said what the call is to do, and all of it was read. A title is the agent's own summary, and nobody can decide
    /// about that.
    pub(super) fn is_whole(&self, call: &Call) -> bool {
        !self.all_are_cut && !call.is_cut && (tool::is_told(call.raw_input.as_ref()) || !call.changes.is_empty())
    }

    /// The call with this id, which may be a new one.
    fn call(&mut self, id: &str) -> &mut Call {
        let known = self.calls.iter().rposition(|call| call.id == id);
        let at = known.unwrap_or_else(|| {
            if self.calls.len() == REMEMBERED {
                // Nobody remembers which call it was.
                self.all_are_cut |= self.calls.pop_front().is_some_and(|forgotten| forgotten.is_cut);
            }
            self.calls.push_back(Call { id: id.to_owned(), ..Call::default() });
            self.calls.len() - 1
        });
        &mut self.calls[at]
    }
}

fn told(call: &Call, mcp_names: McpNames, ledger: &mut Ledger) -> StreamItem {
    let (name, input) = call.words(mcp_names);
    let json = input.to_string();
    let file = call.locations.first().filter(|_| call.kind == ToolKind::Edit).map(|place| place.path.display().to_string().into());
    ledger.called(&call.id, name.raw(), &json, file);
    let input = if json.len() > LARGEST_INPUT { Value::String(format!("{}…", head(&json, RESULT_TEXT))) } else { input };
    StreamItem::Event(EventKind::ToolCall { id: call.id.as_str().into(), name, input, parent: None })
}

fn result(call: &Call, is_error: bool, update: &ToolCallUpdate, ledger: &mut Ledger) -> StreamItem {
    let (text, bytes) = text_of(update).unwrap_or_else(|| call.output.clone());
    let id = Untrusted::from(call.id.as_str());
    let name = ledger.answered(&id, is_error, &text, bytes);
    StreamItem::Event(EventKind::ToolResult { id, name, is_error, text: text.into(), bytes, parent: None })
}

/// The text of an update with no other content.
fn only_text(update: &ToolCallUpdate) -> Option<&str> {
    match update.fields.content.as_deref() {
        Some([ToolCallContent::Content(content)]) => match &content.content {
            ContentBlock::Text(text) => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

/// A piece of a terminal's output. codex's adapter and pi's tell it here, because the client offers no terminal.
fn terminal_output(meta: Option<&serde_json::Map<String, Value>>) -> Option<&str> {
    let meta = meta?;
    ["terminal_output_delta", "terminal_output"].iter().find_map(|name| meta.get(*name)?.get("data")?.as_str())
}

/// The beginning of a result's text, and the size of the whole text. `None` if the update has none.
fn text_of(update: &ToolCallUpdate) -> Option<(String, u64)> {
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
            None | Some(Value::Null) => return None,
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        parts.push(&raw);
    }
    let bytes = parts.iter().map(|part| part.len() as u64).sum();
    Some((head(&parts.join("\n"), RESULT_TEXT).to_owned(), bytes))
}
