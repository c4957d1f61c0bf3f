//! Reading `claude`'s stream-json: lines in, items out.
//!
//! What the stream does and the reader must bear: `init` is neither first nor alone, several results come, `type` is
//! not the first key, subagents speak in between, and types come up that nobody knows. Nothing here is believed about
//! sizes: what is kept and passed on is bounded, and true sizes are stated.

use serde_json::Value;

use crate::agent::events::EventKind;
use crate::agent::stream::lines::Line;

mod bounded;
mod ledger;
pub mod lines;
mod outcome;
mod shorten;
mod wire;

use bounded::head;
use ledger::Ledger;
use outcome::Spent;
pub use outcome::{Interruption, TurnOutcome, Verdict};

/// Kept of a tool result's text in an event, in bytes.
const RESULT_TEXT: usize = 4 << 10;
/// Kept of what is no JSON, in bytes.
const RAW_HEAD: usize = 256;

/// What a line means to the supervisor.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// To be recorded.
    Event(EventKind),
    /// The session began (`first`), or began another turn. The transcript may not exist yet.
    Began {
        /// The session's id, from `init`.
        session_id: String,
        /// The model's name, from `init`.
        model: String,
        /// The version of the agent program: `claude_code_version` of `init`.
        version: String,
        /// The permission mode in force: `permissionMode` of `init`.
        permission_mode: String,
        /// The folder it works in, from `init`.
        cwd: String,
        /// Whether this is the first `init` of this process.
        first: bool,
    },
    /// The main agent's model answered another request: its answer's events follow, over one line or several.
    RoundTrip,
    /// What became of a message of ours, named by the uuid it bore.
    Receipt {
        /// The message: `command_uuid`.
        uuid: String,
        /// What became of it.
        state: ReceiptState,
    },
    /// The agent waits for this permission; nothing else happens until it is answered.
    Permission(PermissionRequest),
    /// The request needs no answer any more.
    PermissionCancelled {
        /// The request, as [`PermissionRequest::request_id`] named it.
        request_id: String,
    },
    /// The answer to a control request of ours.
    ControlReply {
        /// The request of ours that it answers.
        request_id: String,
        /// Whether it succeeded.
        ok: bool,
        /// Why not; empty if it succeeded.
        error: String,
        /// What came with it; null if there was nothing, or over 256 KiB.
        response: Value,
    },
    /// A turn ended. The event `result` comes with it.
    TurnEnded(Box<TurnOutcome>),
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptState {
    /// It is in the agent's queue.
    Queued,
    /// It was put into a request: the model is shown it.
    Started,
    /// Its turn is over; alone and first, after a resume: the session already had it, and it was dropped.
    Completed,
    /// Its turn was cut: by an interrupt, an API error or a limit.
    Cancelled,
}

/// The agent asks whether it may use a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Names the request in the answer.
    pub request_id: String,
    /// The tool that it wants to use.
    pub tool_name: String,
    /// The tool's input, whole; null if `complete` is false.
    pub input: Value,
    /// False if the input is too large (over 256 KiB, or a string in it over the line limits) or too deep to be shown
    /// whole. A decision that looks at the input must then refuse.
    pub complete: bool,
    /// The tool call that waits for the decision.
    pub tool_use_id: String,
    /// The agent's own words about the call; empty if it gave none.
    pub description: String,
    /// Only a person can answer it: `AskUserQuestion`.
    pub requires_user_interaction: bool,
}

/// Turns the lines of one agent process into items.
#[derive(Debug)]
pub struct Interpreter {
    resumed: Option<String>,
    session_id: Option<String>,
    ledger: Ledger,
    spent: Spent,
    answer: Answer,
}

/// Which answer of the model the lines belong to.
#[derive(Debug, Default, PartialEq)]
enum Answer {
    /// The next line begins one.
    #[default]
    None,
    /// One that has no id: it ends with the next tool result.
    Unnamed,
    /// The hash of its id: an agent may send results of its first calls between its lines.
    Named(u64),
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new()
    }
}

impl Interpreter {
    /// For an agent that begins a new session.
    pub fn new() -> Self {
        Self { resumed: None, session_id: None, ledger: Ledger::default(), spent: Spent::Total(0.0), answer: Answer::None }
    }

    /// For an agent that resumes or forks that session.
    pub fn resuming(session_id: impl Into<String>) -> Self {
        Self { resumed: Some(session_id.into()), spent: Spent::Unknown, ..Self::new() }
    }

    /// The session, once it began.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Files written by tools so far, in order, at most 1000.
    pub fn files_touched(&self) -> &[String] {
        self.ledger.files()
    }

    /// The last event of a run that was stopped: what it has to show so far. `how` names what stopped it.
    pub fn interrupted(&self, how: impl Into<String>) -> EventKind {
        let (tool_calls, tool_calls_omitted) = self.ledger.calls();
        EventKind::Interrupted {
            how: how.into(),
            text: self.ledger.words().to_owned(),
            report: None,
            tool_calls,
            tool_calls_omitted,
            files_touched: self.ledger.files().to_vec(),
            session_id: self.session_id.clone(),
        }
    }

    /// What this line means, in order. A line without meaning to us gives one event `raw`.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<StreamItem> {
        if line.over_limit() {
            return raw("over_limit", line, true);
        }
        if let Ok(items) = self.read(line) {
            return items;
        }
        if let Some(repaired) = wire::repair(line.text())
            && let Ok(items) = self.read(&line.with_text(&repaired))
        {
            return items;
        }
        raw(if line.torn() { "torn" } else { "not_json" }, line, true)
    }

    /// Fails before anything is taken down if the line is no JSON object or a string in it is none.
    fn read(&mut self, line: &Line<'_>) -> serde_json::Result<Vec<StreamItem>> {
        let top: wire::Top = wire::line(line.text())?;
        Ok(match (wire::word(top.kind), wire::word(top.subtype)) {
            ("assistant", _) if wire::get(top.is_api_error_message) == Some(true) => {
                // The agent program's words, not the model's; the result repeats them.
                raw("assistant/api_error", line, false)
            }
            ("assistant", _) => return self.assistant(line, &top),
            ("user", _) => return self.user(line, &top),
            ("system", "init") => return self.init(&top),
            ("system", "api_retry") => vec![StreamItem::Event(EventKind::Throttled {
                status: wire::get(top.error_status),
                retry: wire::get(top.attempt).unwrap_or(1),
                max_retries: wire::get(top.max_retries),
                delay_ms: wire::count(top.retry_delay_ms).unwrap_or(0),
                error: wire::string(top.error)?,
            })],
            ("result", _) => return self.result(line.text()),
            ("command_lifecycle", _) => {
                let state = match wire::word(top.state) {
                    "queued" => ReceiptState::Queued,
                    "started" => ReceiptState::Started,
                    "completed" => ReceiptState::Completed,
                    "cancelled" => ReceiptState::Cancelled,
                    other => {
                        return Ok(raw(&format!("command_lifecycle/{}", head(other, 64)), line, false));
                    }
                };
                vec![StreamItem::Receipt { uuid: wire::string(top.command_uuid)?, state }]
            }
            ("control_request", _) => return permission(line, &top),
            ("control_cancel_request", _) => {
                vec![StreamItem::PermissionCancelled { request_id: wire::string(top.request_id)? }]
            }
            ("control_response", _) => return control_reply(&top),
            (kind, "") => raw(head(kind, 64), line, false),
            (kind, subtype) => raw(&format!("{}/{}", head(kind, 64), head(subtype, 64)), line, false),
        })
    }

    fn init(&mut self, top: &wire::Top<'_>) -> serde_json::Result<Vec<StreamItem>> {
        let session_id = wire::string(top.session_id)?;
        let model = wire::string(top.model)?;
        let version = wire::string(top.claude_code_version)?;
        let permission_mode = wire::string(top.permission_mode)?;
        let cwd = wire::string(top.cwd)?;
        let first = self.session_id.replace(session_id.clone()).is_none();
        self.ledger.new_turn();
        let event = EventKind::Started {
            session_id: session_id.clone(),
            model: model.clone(),
            version: version.clone(),
            permission_mode: permission_mode.clone(),
            cwd: cwd.clone(),
            resumed: self.resumed.clone(),
        };
        let began = StreamItem::Began { session_id, model, version, permission_mode, cwd, first };
        Ok(vec![began, StreamItem::Event(event)])
    }

    fn assistant(&mut self, line: &Line<'_>, top: &wire::Top<'_>) -> serde_json::Result<Vec<StreamItem>> {
        let parent = wire::text(top.parent_tool_use_id)?.map(|id| id.into_owned());
        let mut items = Vec::new();
        let blocks = top.blocks();
        for block in blocks {
            let parent = parent.clone();
            let event = match wire::word(block.kind) {
                "text" => EventKind::Text { text: wire::string(block.text)?, parent },
                "thinking" => EventKind::Thinking { text: wire::string(block.thinking)?, parent },
                "tool_use" => EventKind::ToolCall {
                    id: wire::string(block.id)?,
                    name: wire::string(block.name)?,
                    input: bounded::input(block.input),
                    parent,
                },
                _ => continue,
            };
            items.push(StreamItem::Event(event));
        }
        if items.is_empty() {
            return Ok(raw("assistant", line, false));
        }
        // Nothing can fail from here on.
        let begins = parent.is_none() && top.message.as_ref().is_some_and(|message| self.begins_answer(message));
        let mut inputs = blocks.iter().filter(|block| wire::word(block.kind) == "tool_use");
        for item in &items {
            match item {
                StreamItem::Event(EventKind::Text { text, parent: None }) => self.ledger.said(text),
                StreamItem::Event(EventKind::ToolCall { id, name, .. }) => {
                    let input = inputs.next().and_then(|block| block.input);
                    let file = written_file(name, input);
                    self.ledger.called(id, name, input.map_or("", |raw| raw.get()), file);
                }
                _ => {}
            }
        }
        if begins {
            items.insert(0, StreamItem::RoundTrip);
        }
        Ok(items)
    }

    /// Whether this is the first line of another answer. The agent program's own words are no answer.
    fn begins_answer(&mut self, message: &wire::Message<'_>) -> bool {
        use std::hash::{DefaultHasher, Hash, Hasher};
        if wire::word(message.model) == "<synthetic>" {
            return false;
        }
        let now = match wire::word(message.id) {
            "" => Answer::Unnamed,
            id => {
                let mut hasher = DefaultHasher::new();
                id.hash(&mut hasher);
                Answer::Named(hasher.finish())
            }
        };
        let begins = self.answer != now;
        self.answer = now;
        begins
    }

    fn user(&mut self, line: &Line<'_>, top: &wire::Top<'_>) -> serde_json::Result<Vec<StreamItem>> {
        let parent = wire::text(top.parent_tool_use_id)?.map(|id| id.into_owned());
        let mut results = Vec::new();
        for block in top.blocks() {
            if wire::word(block.kind) == "tool_result" {
                let is_error = wire::get(block.is_error).unwrap_or(false);
                let (text, bytes) = result_text(line, block.content)?;
                results.push((wire::string(block.tool_use_id)?, is_error, text, bytes));
            }
        }
        if results.is_empty() {
            return Ok(raw("user", line, false));
        }
        if parent.is_none() && self.answer == Answer::Unnamed {
            self.answer = Answer::None;
        }
        let event = |(id, is_error, text, bytes): (String, bool, String, u64)| {
            let name = self.ledger.answered(&id, is_error, &text, bytes);
            let parent = parent.clone();
            StreamItem::Event(EventKind::ToolResult { id, name, is_error, text, bytes, parent })
        };
        Ok(results.into_iter().map(event).collect())
    }

    fn result(&mut self, line: &str) -> serde_json::Result<Vec<StreamItem>> {
        let outcome = outcome::read(line, &mut self.spent)?;
        self.answer = Answer::None;
        let api_error_status = match outcome.verdict {
            Verdict::ApiError { status, .. } => status,
            _ => None,
        };
        let event = EventKind::Result {
            is_error: outcome.is_error,
            text: outcome.text.clone(),
            terminal_reason: outcome.terminal_reason.clone(),
            stop_reason: outcome.stop_reason.clone(),
            api_error_status,
            cost_usd: outcome.cost_usd,
            tokens: outcome.tokens,
            turns: outcome.turns,
            duration_ms: outcome.duration_ms,
            files_touched: self.ledger.files().to_vec(),
        };
        Ok(vec![StreamItem::Event(event), StreamItem::TurnEnded(Box::new(outcome))])
    }
}

fn raw(what: &str, line: &Line<'_>, with_head: bool) -> Vec<StreamItem> {
    let head = if with_head { head(line.text(), RAW_HEAD) } else { "" };
    let event = EventKind::Raw { what: what.into(), bytes: line.size(), head: head.into() };
    vec![StreamItem::Event(event)]
}

fn permission(line: &Line<'_>, top: &wire::Top<'_>) -> serde_json::Result<Vec<StreamItem>> {
    let request: wire::Request = wire::object(top.request);
    if wire::word(request.subtype) != "can_use_tool" {
        let what = format!("control_request/{}", head(wire::word(request.subtype), 64));
        return Ok(raw(&what, line, false));
    }
    // A shortened input must not pass for the real one.
    let whole = request.input.filter(|input| line.dropped_in(input.get()) == 0);
    let input = bounded::exact(whole);
    Ok(vec![StreamItem::Permission(PermissionRequest {
        request_id: wire::string(top.request_id)?,
        tool_name: wire::string(request.tool_name)?,
        complete: input.is_some(),
        input: input.unwrap_or(Value::Null),
        tool_use_id: wire::string(request.tool_use_id)?,
        description: wire::string(request.description)?,
        requires_user_interaction: wire::get(request.requires_user_interaction).unwrap_or(false),
    })])
}

fn control_reply(top: &wire::Top<'_>) -> serde_json::Result<Vec<StreamItem>> {
    let reply: wire::Response = wire::object(top.response);
    Ok(vec![StreamItem::ControlReply {
        request_id: wire::string(reply.request_id)?,
        ok: wire::word(reply.subtype) == "success",
        error: wire::string(reply.error)?,
        response: bounded::exact(reply.response).unwrap_or(Value::Null),
    }])
}

/// The file that a call of one of the writing tools is about.
fn written_file(tool: &str, input: wire::Raw<'_>) -> Option<String> {
    if !matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit") {
        return None;
    }
    let paths: wire::Paths = wire::object(input);
    wire::text(paths.notebook_path.or(paths.file_path)).ok()?.map(|path| path.into_owned())
}

/// The head of a tool result's text, and the result's true size in bytes.
fn result_text(line: &Line<'_>, content: wire::Raw<'_>) -> serde_json::Result<(String, u64)> {
    let Some(content) = content else {
        return Ok((String::new(), 0));
    };
    let mut text = String::new();
    let mut bytes = line.dropped_in(content.get());
    if let Some((whole, length)) = wire::text_head(Some(content), RESULT_TEXT)? {
        text.push_str(head(&whole, RESULT_TEXT));
        return Ok((text, bytes + length));
    }
    for block in wire::blocks(Some(content))? {
        match wire::text_head(block.text, RESULT_TEXT)? {
            Some((part, length)) => {
                bytes += length;
                if !text.is_empty() && text.len() < RESULT_TEXT {
                    text.push('\n');
                }
                text.push_str(head(&part, RESULT_TEXT.saturating_sub(text.len())));
            }
            // Pictures and the like: only their size.
            None => {
                bytes += block.source.map_or(0, |source| source.get().len() as u64);
                text.push_str(&format!("[{}]", head(wire::word(block.kind), 64)));
            }
        }
    }
    Ok((text, bytes))
}

#[cfg(test)]
mod tests;
