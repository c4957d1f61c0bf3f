//! Turns the lines of one agent process into [`StreamItem`]s.
//!
//! Finds the end of one answer of the model and the beginning of the next. Each answer is one round trip to the API, over one line or
//! several.

use serde::de::Error;
use serde_json::{Result, Value};

use crate::events::EventKind;
use crate::stream::bounded::{self, head};
use crate::stream::dirty_line::{self, Found};
use crate::stream::item::{Asker, Elicitation, Generating, PermissionRequest, StreamItem};
use crate::stream::ledger::{self, Ledger};
use crate::stream::lines::Line;
use crate::stream::verdict::{self, Spent};
use crate::stream::wire::{self, Message, repair};
use askbox_mailbox::Untrusted;

/// The bytes that are kept of a line that is not JSON.
pub(super) const RAW_HEAD: usize = 256;

/// Reads the stream of one agent process, line by line.
#[derive(Debug, Default)]
pub struct Interpreter {
    /// The session that the process resumes or forks.
    resumed: Option<Untrusted>,
    pub(super) session_id: Option<Untrusted>,
    ledger: Ledger,
    spent: Spent,
    round_trip: RoundTrip,
    /// True if an event says that lines hold other bytes beside their message.
    dirt_noted: bool,
}

impl Interpreter {
    /// For an agent that begins a new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// For an agent that resumes or forks this session.
    pub fn resuming(session_id: impl Into<Untrusted>) -> Self {
        Self { resumed: Some(session_id.into()), spent: Spent::Unknown, ..Self::default() }
    }

    /// The files that the editing tools wrote so far, in order, at most 1000.
    pub fn files_touched(&self) -> &[Untrusted] {
        &self.ledger.files
    }

    /// The last event of a run that was stopped: its words, calls and files so far. `how` names the cause of the stop.
    pub fn interrupted(&self, how: impl Into<Untrusted>) -> EventKind {
        self.ledger.interrupted(how.into(), self.session_id.clone())
    }

    /// The items of this line, in order. A line without meaning for askbox becomes one event `raw`.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<StreamItem> {
        if line.over_limit {
            return raw("over_limit", line, true);
        }
        if let Ok(items) = self.read(line) {
            return items;
        }
        if let Some(repaired) = repair(line.text)
            && let Ok(items) = self.read(&line.with_text(&repaired))
        {
            return items;
        }
        if let Some(found) = dirty_line::message_in(line.text)
            && let Ok(mut items) = self.read_found(line, &found)
        {
            items.splice(0..0, note_of_dirt(line, &mut self.dirt_noted));
            return items;
        }
        raw(if line.torn { "torn" } else { "not_json" }, line, true)
    }

    /// Fails if the line is not a JSON object, or if a string in it is not valid. `self` is then unchanged.
    fn read(&mut self, line: &Line<'_>) -> Result<Vec<StreamItem>> {
        let wire: wire::Line = wire::line(line.text)?;
        Ok(match (wire::word(wire.kind), wire::word(wire.subtype)) {
            ("assistant", _) if wire::get(wire.is_api_error_message) == Some(true) => {
                // These are words of the agent program, not of the model. The result repeats them.
                raw("assistant/api_error", line, false)
            }
            ("assistant", _) => return self.assistant(line, &wire),
            ("user", _) => return self.user(line, &wire),
            ("stream_event", _) => return self.generating(&wire),
            ("system", "thinking_tokens") => vec![StreamItem::Generating(Generating::Thinking)],
            // There is one for each request, besides lines with more information.
            ("system", "status") if wire::word(wire.status) == "requesting" => Vec::new(),
            ("system", "init") => return self.init(&wire),
            ("rate_limit_event", _) => plan_limit(line, &wire)?,
            ("system", "api_retry") => vec![StreamItem::Event(api_retry(&wire)?)],
            ("result", _) => return self.result(line.text),
            ("command_lifecycle", _) => return receipt(line, &wire),
            ("control_request", _) => return request(line, &wire),
            ("control_cancel_request", _) => {
                vec![StreamItem::RequestCancelled { request_id: wire::string(wire.request_id)? }]
            }
            ("control_response", _) => return control_reply(&wire),
            (kind, "") => raw(head(kind, 64), line, false),
            (kind, subtype) => raw(&format!("{}/{}", head(kind, 64), head(subtype, 64)), line, false),
        })
    }

    /// Fails like [`read`](Self::read), and for an object without a type. Behind words, a result must also name the session: the words may
    /// quote whoever does not know it.
    fn read_found(&mut self, line: &Line<'_>, found: &Found) -> Result<Vec<StreamItem>> {
        let wire: wire::Line = wire::line(&found.line)?;
        let names_session = bounded::some_name(wire.session_id)?.is_some_and(|id| self.session_id == Some(id));
        let kind = wire::word(wire.kind);
        if kind.is_empty() || (found.has_words && kind == "result" && !names_session) {
            return Err(Error::custom("not a message of this session"));
        }
        self.read(&line.with_text(&found.line))
    }

    fn init(&mut self, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
        let session_id = bounded::name(wire.session_id)?;
        let model = bounded::name(wire.model)?;
        let version = bounded::name(wire.claude_code_version)?;
        let permission_mode = bounded::name(wire.permission_mode)?;
        let cwd = bounded::path(wire.cwd)?;
        let first = self.session_id.replace(session_id.clone()).is_none();
        self.ledger.new_turn();
        let event = EventKind::Started {
            session_id: session_id.clone(),
            model: model.clone(),
            version: version.clone(),
            permission_mode: permission_mode.clone(),
            cwd: cwd.clone(),
            resumed: self.resumed.clone(),
            program: None,
        };
        let began = StreamItem::Began { session_id, model, version, permission_mode, cwd, first };
        Ok(vec![began, StreamItem::Event(event)])
    }

    /// Reads an event of generation. For a subagent it is only a sign of life.
    fn generating(&mut self, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
        let event: wire::StreamEvent = wire::object(wire.event)?;
        let delta: wire::Delta = wire::object(event.delta)?;
        if bounded::some_name(wire.parent_tool_use_id)?.is_some() {
            return Ok(Vec::new());
        }
        let what = match (wire::word(event.kind), wire::word(delta.kind)) {
            ("message_start", _) => Generating::Answer,
            ("content_block_delta", "text_delta") => Generating::Text(wire::string(delta.text)?),
            ("content_block_delta", "thinking_delta") => Generating::Thinking,
            ("content_block_delta", "input_json_delta") => Generating::ToolInput,
            _ => return Ok(Vec::new()),
        };
        match &what {
            Generating::Answer => self.ledger.unfinished.clear(),
            Generating::Text(text) => self.ledger.is_saying(text.raw()),
            Generating::Thinking | Generating::ToolInput => {}
        }
        Ok(vec![StreamItem::Generating(what)])
    }

    fn assistant(&mut self, line: &Line<'_>, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
        let parent = bounded::some_name(wire.parent_tool_use_id)?;
        let message: wire::Message = wire::object(wire.message)?;
        let mut items = Vec::new();
        let mut inputs = Vec::new();
        for block in wire::blocks(message.content)? {
            let parent = parent.clone();
            items.push(StreamItem::Event(match wire::word(block.kind) {
                "text" => EventKind::Text { text: wire::string(block.text)?, parent },
                "thinking" => EventKind::Thinking { text: wire::string(block.thinking)?, parent },
                "tool_use" => {
                    inputs.push(block.input);
                    EventKind::ToolCall {
                        id: bounded::name(block.id)?,
                        name: bounded::name(block.name)?,
                        input: bounded::input(block.input),
                        parent,
                    }
                }
                _ => continue,
            }));
        }
        if items.is_empty() {
            return Ok(raw("assistant", line, false));
        }
        // Nothing can fail from here on, so `self` may change.
        let mut inputs = inputs.into_iter();
        for item in &items {
            match item {
                StreamItem::Event(EventKind::Text { text, parent: None }) => self.ledger.said(text.raw()),
                StreamItem::Event(EventKind::ToolCall { id, name, .. }) => {
                    let input = inputs.next().flatten();
                    self.ledger.called(id.raw(), name.raw(), input.map_or("", |raw| raw.get()), ledger::written_file(name.raw(), input));
                }
                _ => {}
            }
        }
        if parent.is_none() && self.round_trip.begins_with(&message) {
            items.insert(0, StreamItem::RoundTrip);
        }
        Ok(items)
    }

    fn user(&mut self, line: &Line<'_>, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
        let parent = bounded::some_name(wire.parent_tool_use_id)?;
        let message: wire::Message = wire::object(wire.message)?;
        let mut results = Vec::new();
        for block in wire::blocks(message.content)? {
            if wire::word(block.kind) == "tool_result" {
                let is_error = wire::get(block.is_error).unwrap_or(false);
                let (text, bytes) = ledger::result_text(line, block.content)?;
                results.push((bounded::name(block.tool_use_id)?, is_error, text, bytes));
            }
        }
        if results.is_empty() {
            return Ok(raw("user", line, false));
        }
        if parent.is_none() {
            self.round_trip.tool_answered();
        }
        let event = |(id, is_error, text, bytes): (Untrusted, bool, String, u64)| {
            let name = self.ledger.answered(&id, is_error, &text, bytes);
            StreamItem::Event(EventKind::ToolResult { id, name, is_error, text: text.into(), bytes, parent: parent.clone() })
        };
        Ok(results.into_iter().map(event).collect())
    }

    fn result(&mut self, line: &str) -> Result<Vec<StreamItem>> {
        let outcome = verdict::read(line, &mut self.spent)?;
        self.round_trip = RoundTrip::None;
        Ok(outcome.into_items(&self.ledger.files).into())
    }
}

fn api_retry(wire: &wire::Line<'_>) -> Result<EventKind> {
    let (retry, max_retries) = (wire::get(wire.attempt).unwrap_or(1), wire::get(wire.max_retries));
    let delay_ms = wire::count(wire.retry_delay_ms).unwrap_or(0);
    let error = bounded::path(wire.error)?;
    Ok(match wire::get(wire.error_status) {
        Some(status) if !verdict::waiting_mends(status) => EventKind::Retrying { status, retry, max_retries, delay_ms, error },
        status => EventKind::Throttled { status, retry, max_retries, delay_ms, error },
    })
}

/// The plan's limit, if it is reached. Its other reports are warnings.
fn plan_limit(line: &Line<'_>, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
    let limit: wire::RateLimit = wire::object(wire.rate_limit_info).unwrap_or_default();
    let mut items = raw("rate_limit_event", line, false);
    if let ("rejected", Some(resets_at)) = (wire::word(limit.status), wire::count(limit.resets_at)) {
        items.push(StreamItem::PlanLimit { resets_at, limit: bounded::name(limit.rate_limit_type)? });
    }
    Ok(items)
}

/// The event that says, once, that a line holds other bytes beside its message. `noted` is true if it was said before.
pub fn note_of_dirt(line: &Line<'_>, noted: &mut bool) -> Option<StreamItem> {
    let text = format!("the agent prints other bytes on the lines of its messages: {}", head(line.text, RAW_HEAD));
    (!std::mem::replace(noted, true)).then(|| StreamItem::Event(EventKind::Note { text: text.into() }))
}

/// A line that is not interpreted.
pub fn raw(what: &str, line: &Line<'_>, with_head: bool) -> Vec<StreamItem> {
    let head = if with_head { head(line.text, RAW_HEAD) } else { "" };
    vec![StreamItem::Event(EventKind::Raw { what: what.into(), bytes: line.size, head: head.into() })]
}

fn receipt(line: &Line<'_>, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
    let state = wire::word(wire.state);
    match state.parse() {
        Ok(state) => Ok(vec![StreamItem::Receipt { uuid: wire::string(wire.command_uuid)?, state }]),
        Err(_) => Ok(raw(&format!("command_lifecycle/{}", head(state, 64)), line, false)),
    }
}

fn request(line: &Line<'_>, wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
    let request: wire::Request = wire::object(wire.request).unwrap_or_default();
    let what = wire::word(request.subtype);
    let request_id = wire::string(wire.request_id)?;
    // A reply would have to repeat the id.
    match what {
        "can_use_tool" if request_id.raw().len() <= bounded::NAME => permission(line, &request, request_id),
        "elicitation" if request_id.raw().len() <= bounded::NAME => elicitation(line, &request, request_id),
        _ => {
            let mut items = raw(&format!("control_request/{}", head(what, 64)), line, false);
            if request_id.raw().len() <= bounded::NAME {
                items.push(StreamItem::UnknownRequest { request_id });
            }
            Ok(items)
        }
    }
}

fn elicitation(line: &Line<'_>, request: &wire::Request<'_>, request_id: Untrusted) -> Result<Vec<StreamItem>> {
    // A shortened form does not count as a form, because a field that is not shown must not be answered.
    let whole = |raw: wire::Raw<'_>| raw.filter(|json| line.dropped_in(json.get()) == 0).and_then(|json| bounded::exact(Some(json)));
    let url = if wire::word(request.mode) == "url" { Some(wire::string(request.url)?) } else { None };
    Ok(vec![StreamItem::Elicitation(Box::new(Elicitation {
        request_id,
        asker: Asker::Server(bounded::name(request.mcp_server_name)?),
        message: wire::string(request.message)?,
        url,
        schema: whole(request.requested_schema).unwrap_or(Value::Null),
        order: whole(request.property_order).unwrap_or(Value::Null),
        own_words: Vec::new(),
    }))])
}

fn permission(line: &Line<'_>, request: &wire::Request<'_>, request_id: Untrusted) -> Result<Vec<StreamItem>> {
    // A shortened input must not be taken for the whole one.
    let whole = request.input.filter(|input| line.dropped_in(input.get()) == 0);
    let input = bounded::exact(whole);
    Ok(vec![StreamItem::Permission(PermissionRequest {
        needs_nobody: None,
        cwd: None,
        request_id,
        tool_name: bounded::name(request.tool_name)?,
        complete: input.is_some(),
        input: input.unwrap_or(Value::Null),
        tool_use_id: bounded::name(request.tool_use_id)?,
        description: wire::string(request.description)?,
        requires_user_interaction: wire::get(request.requires_user_interaction).unwrap_or(false),
        // An id that cannot be read is still the id of a subagent.
        subagent: request
            .agent_id
            .filter(|id| id.get() != "null")
            .map(|id| bounded::name(Some(id)).unwrap_or_else(|_| String::new().into())),
    })])
}

fn control_reply(wire: &wire::Line<'_>) -> Result<Vec<StreamItem>> {
    let reply: wire::Response = wire::object(wire.response).unwrap_or_default();
    Ok(vec![StreamItem::ControlReply {
        request_id: wire::string(reply.request_id)?,
        ok: wire::word(reply.subtype) == "success",
        error: wire::string(reply.error)?,
        response: bounded::exact(reply.response).unwrap_or(Value::Null),
    }])
}

/// The answer of the main agent's model that has the last lines.
#[derive(Debug, Default, PartialEq)]
pub(super) enum RoundTrip {
    /// None: the next line begins an answer.
    #[default]
    None,
    /// An answer without an id. The next tool result ends it.
    Unnamed,
    /// An answer with this id. It ends with another id, not with a tool result: an agent may send the results of the first calls before
    /// the last lines of the answer.
    Named(String),
}

/// The bytes that are kept of an answer's id.
const ID: usize = 256;

impl RoundTrip {
    /// Takes in a line of the model. Returns whether it begins another answer.
    pub(super) fn begins_with(&mut self, message: &Message<'_>) -> bool {
        if wire::word(message.model) == "<synthetic>" {
            // These are the agent program's own words.
            return false;
        }
        let now = match wire::word(message.id) {
            "" => Self::Unnamed,
            id => Self::Named(head(id, ID).to_owned()),
        };
        let begins = *self != now;
        *self = now;
        begins
    }

    /// Takes in a tool result.
    fn tool_answered(&mut self) {
        if *self == Self::Unnamed {
            *self = Self::None;
        }
    }
}
