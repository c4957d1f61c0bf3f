//! The two sides of the conversation with one agent process: our requests out, the agent's lines in.
//!
//! A line is made here, and written by the caller. So a prompt counts as made before the agent can have read it.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{RequestPermissionRequest, SessionNotification, SessionUpdate};
use serde_json::{Value, json};

use crate::acp::envelope::{self, Envelope, shaped};
use crate::acp::forms::{self, FormRequest, WaitingForm};
use crate::acp::permission::{self, Choice, WaitingCall};
use crate::acp::presets::{PLAIN, Preset};
use crate::acp::replay::Replay;
use crate::acp::replies::{self, AgentInfo, Asked, Opened, OpenedSession, Reply};
use crate::acp::requests::Requests;
use crate::acp::signs;
use crate::acp::tool;
use crate::acp::turn::Turn;
use crate::acp::unread::Subject;
use crate::acp::verdict;
use crate::events::EventKind;
use crate::stream::bounded::{NAME, head};
use crate::stream::ledger::Ledger;
use crate::stream::lines::Line;
use crate::stream::raw;
use crate::stream::wire::{Raw, repair};
use crate::stream::{FormReply, PermissionRequest, StreamItem, TurnOutcome, Verdict};
use askbox_mailbox::untrusted::Untrusted;

/// The largest input that a person decides about, in bytes, as for `claude`.
const LARGEST_INPUT: usize = 256 << 10;

/// The most US dollars that a session can have cost. An agent that tells more tells nothing.
const MOST: f64 = 1e9;

/// Where a session works.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPlace {
    /// The working folder.
    pub cwd: PathBuf,
    /// Further folders that it may work in, if the agent takes them.
    pub folders: Vec<PathBuf>,
    /// The mode that it is put into once it is open; empty for the agent's own.
    pub mode: String,
}

/// The conversation with one agent process.
#[derive(Debug)]
pub struct Client {
    /// The session's name in askbox's records.
    name: Untrusted,
    place: SessionPlace,
    agent: Preset,
    last_id: u64,
    /// Our requests without a reply.
    asked: Vec<(u64, Asked)>,
    info: AgentInfo,
    /// The session's id, in the agent's words.
    session: Option<String>,
    replay: Replay,
    turn: Option<Turn>,
    requests: Requests,
    ledger: Ledger,
    /// US dollars of the whole session: before the turn, and now. `None` if unknown.
    cost: (Option<f64>, Option<f64>),
}

impl Client {
    /// For a process that has said nothing yet. `name` is the session's id in askbox's records, `preset` what is known about the agent.
    #[must_use]
    pub fn new(name: &str, place: SessionPlace, preset: Option<&'static Preset>) -> Self {
        Self {
            name: name.into(),
            place,
            agent: *preset.unwrap_or(&PLAIN),
            last_id: 0,
            asked: Vec::new(),
            info: AgentInfo::default(),
            session: None,
            replay: Replay::default(),
            turn: None,
            requests: Requests::default(),
            ledger: Ledger::default(),
            cost: (None, None),
        }
    }

    /// The session's working folder.
    #[must_use]
    pub fn cwd(&self) -> &std::path::Path {
        &self.place.cwd
    }

    /// True if the agent has played back a message with the marker.
    #[must_use]
    pub fn has_seen_marker(&self) -> bool {
        self.replay.has_marker
    }

    /// True if the agent has played back anything.
    #[must_use]
    pub fn has_seen_history(&self) -> bool {
        self.replay.has_history
    }

    /// True while a turn goes on.
    #[must_use]
    pub fn has_turn(&self) -> bool {
        self.turn.is_some()
    }

    fn request(&mut self, asked: Asked, params: Value) -> String {
        self.last_id += 1;
        self.asked.push((self.last_id, asked));
        envelope::request(self.last_id, asked.method(), params)
    }

    /// The first request. No files and no terminals are offered. Forms are, because without them some agents ask in a way that looks like
    /// a permission.
    pub fn initialize(&mut self) -> String {
        let params = json!({
            "protocolVersion": replies::VERSION,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
                "elicitation": { "form": {} },
            },
            "clientInfo": { "name": "askbox", "version": env!("CARGO_PKG_VERSION") },
        });
        self.request(Asked::Initialize, params)
    }

    /// Begins a session.
    pub fn new_session(&mut self) -> String {
        self.session = None;
        self.cost.0 = Some(0.0);
        let params = self.place_params();
        self.request(Asked::New, params)
    }

    /// Continues a session without its history.
    pub fn resume(&mut self, session: &str) -> String {
        self.continue_by(Asked::Resume, session)
    }

    /// Continues a session, whose history is played back, and looks for a marker in it.
    pub fn load(&mut self, session: &str, marker: &str) -> String {
        self.replay = Replay::looking_for(marker);
        self.continue_by(Asked::Load, session)
    }

    fn continue_by(&mut self, asked: Asked, session: &str) -> String {
        self.session = Some(session.to_owned());
        let mut params = self.place_params();
        params["sessionId"] = session.into();
        self.request(asked, params)
    }

    fn place_params(&self) -> Value {
        let mut params = json!({ "cwd": self.place.cwd.display().to_string(), "mcpServers": [] });
        if self.info.takes_folders && !self.place.folders.is_empty() {
            params["additionalDirectories"] = self.place.folders.iter().map(|folder| folder.display().to_string()).collect();
        }
        params
    }

    /// Sets the session's mode.
    pub fn set_mode(&mut self, mode: &str) -> String {
        let params = json!({ "sessionId": self.session, "modeId": mode });
        self.request(Asked::Mode, params)
    }

    /// Begins a turn. From now on, updates belong to it.
    pub fn prompt(&mut self, text: &str) -> String {
        self.turn = Some(Turn::begin(self.agent.tells_input_as_text));
        self.ledger.new_turn();
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        self.request(Asked::Prompt, params)
    }

    /// Ends the turn: nobody decides about the requests that wait, and the turn is cancelled. Empty if no turn goes on.
    pub fn cancel(&mut self) -> String {
        let mut lines = self.requests.cancel_all();
        if let (Some(turn), Some(session)) = (&mut self.turn, &self.session) {
            turn.was_cancelled = true;
            lines.push_str(&envelope::notification("session/cancel", json!({ "sessionId": session })));
        }
        lines
    }

    /// Closes the session, if the agent can and no turn goes on. Empty otherwise.
    pub fn close(&mut self) -> String {
        match self.session.clone() {
            Some(session) if self.info.can_close && self.turn.is_none() => self.request(Asked::Close, json!({ "sessionId": session })),
            _ => String::new(),
        }
    }

    /// Answers a request for a permission. Returns the line, and the choice that it makes. `None` if the request no longer waits.
    pub fn decide(&mut self, request_id: &str, choice: Choice) -> Option<(String, Choice)> {
        let (line, made) = self.requests.decide(request_id, choice)?;
        if let Some(turn) = self.turn.as_mut().filter(|_| made != Choice::Allow) {
            turn.was_refused = true;
        }
        Some((line, made))
    }

    /// Answers a form. Returns the line, and whether it says what it was to say. `None` if the form no longer waits.
    pub fn reply_to_form(&mut self, request_id: &str, reply: &FormReply) -> Option<(String, bool)> {
        self.requests.reply_to_form(request_id, reply)
    }

    /// The last event of a run that was stopped: its words, calls and files so far. `how` names the cause of the stop.
    #[must_use]
    pub fn interrupted(&self, how: &str) -> EventKind {
        let (tool_calls, tool_calls_omitted) = self.ledger.calls();
        EventKind::Interrupted {
            how: how.into(),
            text: self.ledger.words().as_str().into(),
            report: None,
            tool_calls,
            tool_calls_omitted,
            files_touched: self.ledger.files().to_vec(),
            session_id: self.session.as_ref().map(|_| self.name.clone()),
        }
    }

    /// The items of this line, in order. A line without meaning for askbox becomes one event `raw`.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<StreamItem> {
        if line.over_limit() {
            self.note_cut(&Subject::of_line(line.text()));
            return raw("over_limit", line, true);
        }
        if let Some(items) = self.read(line) {
            return items;
        }
        if let Some(repaired) = repair(line.text())
            && let Some(items) = self.read(&line.with_text(&repaired))
        {
            return items;
        }
        self.note_cut(&Subject::of_line(line.text()));
        raw(if line.torn() { "torn" } else { "not_json" }, line, true)
    }

    fn note_cut(&mut self, subject: &Subject) {
        self.turn.iter_mut().for_each(|turn| turn.calls.note_cut(subject));
    }

    /// `None` if the line is not a JSON object.
    fn read(&mut self, line: &Line<'_>) -> Option<Vec<StreamItem>> {
        Some(match envelope::read(line.text()).ok()? {
            Envelope::Request { id, method, params } => self.requested(line, id, &method, params),
            Envelope::Notification { method, params } => self.notified(line, &method, params),
            Envelope::Reply { id, result } => match self.asked.iter().position(|(asked, _)| *asked == id) {
                Some(at) => {
                    let (_, asked) = self.asked.remove(at);
                    self.replied(line, asked, result)
                }
                // A second reply, or one to nothing.
                None => raw("acp/unexpected_reply", line, false),
            },
            Envelope::Other => raw("acp/other", line, false),
        })
    }

    fn requested(&mut self, line: &Line<'_>, id: String, method: &str, params: Raw<'_>) -> Vec<StreamItem> {
        match method {
            "session/request_permission" => self.permission_asked(line, id, params),
            "elicitation/create" => self.form_asked(line, id, params),
            _ => {
                let mut items = raw(&format!("acp/{}", head(method, 64)), line, false);
                items.push(StreamItem::Say(envelope::no_such_method(&id, head(method, NAME))));
                items
            }
        }
    }

    fn form_asked(&mut self, line: &Line<'_>, id: String, params: Raw<'_>) -> Vec<StreamItem> {
        let read = shaped::<FormRequest<'_>>(params).filter(|asked| asked.session().is_some_and(|id| Some(id) == self.session));
        let (Some(asked), true) = (read, self.turn.is_some() && self.requests.has_room_for(&id)) else {
            let mut items = raw("acp/elicitation", line, false);
            items.push(StreamItem::Say(forms::cancelled(&id)));
            return items;
        };
        let (question, form) = asked.question(id, params, line);
        self.requests.add_form(form);
        vec![StreamItem::Elicitation(Box::new(question))]
    }

    fn permission_asked(&mut self, line: &Line<'_>, id: String, params: Raw<'_>) -> Vec<StreamItem> {
        let read = shaped::<RequestPermissionRequest>(params).filter(|asked| self.session.as_deref() == Some(&*asked.session_id.0));
        if read.is_none() {
            self.note_cut(&Subject::of_params(params, self.session.as_deref()));
        }
        let is_whole = params.is_none_or(|params| line.dropped_in(params.get()) == 0);
        let room = self.requests.has_room_for(&id);
        let (Some(asked), Some(turn), true) = (read, self.turn.as_mut(), room) else {
            let mut items = raw("acp/request_permission", line, false);
            items.push(StreamItem::Say(permission::cancelled(&id)));
            return items;
        };
        let mut items = Vec::new();
        turn.called(&asked.tool_call, true, &mut self.ledger, &mut items);
        if let Some(question) = forms::in_permission(&id, &asked, params, line) {
            items.push(StreamItem::Elicitation(Box::new(question)));
            self.requests.add_form(WaitingForm::of_permission(id, asked.options));
            return items;
        }
        let call = turn.calls.find(&asked.tool_call.tool_call_id.0);
        let (tool_name, input) = call.map(|call| call.words()).unwrap_or_default();
        let description = call.map(|call| call.title().to_owned()).unwrap_or_default();
        let has_input = call.is_some_and(|call| turn.calls.is_whole(call));
        items.push(StreamItem::Permission(PermissionRequest {
            request_id: id.as_str().into(),
            complete: is_whole && has_input && input.to_string().len() <= LARGEST_INPUT,
            is_plain: tool::is_plain(tool_name.raw(), &input, &self.place.cwd),
            tool_name,
            input,
            tool_use_id: head(&asked.tool_call.tool_call_id.0, NAME).into(),
            description: description.into(),
            requires_user_interaction: false,
            subagent: None,
        }));
        self.requests.add_call(WaitingCall::new(id, asked.options));
        items
    }

    fn notified(&mut self, line: &Line<'_>, method: &str, params: Raw<'_>) -> Vec<StreamItem> {
        match method {
            "session/update" => self.updated(line, params),
            "$/cancel_request" => {
                let named = shaped::<Value>(params).map(|mut all| all["requestId"].take()).unwrap_or_default();
                vec![StreamItem::RequestCancelled { request_id: self.requests.taken_back(&named).into() }]
            }
            other => raw(&format!("acp/{}", head(other, 64)), line, false),
        }
    }

    fn updated(&mut self, line: &Line<'_>, params: Raw<'_>) -> Vec<StreamItem> {
        let Some(notification) = shaped::<SessionNotification>(params) else {
            self.note_cut(&Subject::of_params(params, self.session.as_deref()));
            return raw("acp/update", line, false);
        };
        if self.session.as_deref() != Some(&*notification.session_id.0) {
            return raw("acp/other_session", line, false);
        }
        match (&notification.update, self.turn.as_mut()) {
            (SessionUpdate::UsageUpdate(usage), _) => {
                self.cost.1 = usage
                    .cost
                    .as_ref()
                    .filter(|cost| cost.currency == "USD" && (0.0..=MOST).contains(&cost.amount))
                    .map(|cost| cost.amount);
                Vec::new()
            }
            (SessionUpdate::SessionInfoUpdate(info), turn) => {
                let sign = info.meta.as_ref().and_then(signs::in_session_info);
                turn.into_iter().for_each(|turn| turn.sign = turn.sign.or(sign));
                Vec::new()
            }
            (SessionUpdate::AvailableCommandsUpdate(_) | SessionUpdate::CurrentModeUpdate(_) | SessionUpdate::ConfigOptionUpdate(_), _) => {
                Vec::new()
            }
            (
                SessionUpdate::AgentMessageChunk(_)
                | SessionUpdate::AgentThoughtChunk(_)
                | SessionUpdate::ToolCall(_)
                | SessionUpdate::ToolCallUpdate(_),
                Some(turn),
            ) => {
                let id = match &notification.update {
                    SessionUpdate::ToolCall(call) => Some(call.tool_call_id.to_string()),
                    SessionUpdate::ToolCallUpdate(call) => Some(call.tool_call_id.to_string()),
                    _ => None,
                };
                let items = turn.update(notification.update, &mut self.ledger);
                if let Some(id) = id.filter(|_| params.is_none_or(|params| line.dropped_in(params.get()) > 0)) {
                    turn.calls.note_cut(&Subject::Call(id));
                }
                items
            }
            // Before the prompt: the history, or words of the agent program. Behind the result: late.
            (SessionUpdate::UserMessageChunk(chunk), None) => {
                if let agent_client_protocol_schema::v1::ContentBlock::Text(text) = &chunk.content {
                    self.replay.told(&text.text);
                }
                Vec::new()
            }
            (_, None) => {
                self.replay.other();
                Vec::new()
            }
            (_, Some(_)) => raw("acp/update", line, false),
        }
    }

    fn replied(&mut self, line: &Line<'_>, asked: Asked, result: Result<Raw<'_>, Raw<'_>>) -> Vec<StreamItem> {
        let result = match (asked, result) {
            (Asked::Prompt, result) => return self.turn_ended(result),
            (Asked::Close, _) => return Vec::new(),
            (_, Ok(result)) => result,
            (_, Err(error)) => {
                let (code, message) = replies::error(error);
                return vec![StreamItem::Acp(Reply::Failed { asked, code, message: message.into() })];
            }
        };
        match asked {
            Asked::Initialize => {
                self.info = AgentInfo::of(result);
                vec![StreamItem::Acp(Reply::Initialized(self.info.clone()))]
            }
            Asked::Mode => vec![StreamItem::Acp(Reply::ModeSet)],
            _ => self.opened(line, asked, result),
        }
    }

    fn opened(&mut self, line: &Line<'_>, how: Asked, result: Raw<'_>) -> Vec<StreamItem> {
        let reply = shaped::<OpenedSession>(result).unwrap_or_default();
        let resumed = self.session.clone();
        // A session that is continued keeps its id, whatever the reply says.
        let Some(session) = resumed.clone().or(reply.session_id).filter(|id| !id.is_empty() && id.len() <= NAME) else {
            let mut items = raw("acp/session", line, false);
            let message = "the agent names no session".into();
            items.push(StreamItem::Acp(Reply::Failed { asked: how, code: 0, message }));
            return items;
        };
        self.session = Some(session.clone());
        let mode = reply.modes.and_then(|modes| modes.current_mode_id);
        let in_force = if self.place.mode.is_empty() { mode.as_deref().unwrap_or_default() } else { &self.place.mode };
        let permission_mode = Untrusted::from(head(in_force, NAME));
        let cwd = Untrusted::from(self.place.cwd.display().to_string());
        let version = Untrusted::from(format!("{} {}", self.info.name.raw(), self.info.version.raw()).trim());
        let started = EventKind::Started {
            session_id: self.name.clone(),
            model: Untrusted::default(),
            version,
            permission_mode: permission_mode.clone(),
            cwd: cwd.clone(),
            resumed: resumed.map(Untrusted::from),
            program: None,
        };
        let began = StreamItem::Began {
            session_id: self.name.clone(),
            model: Untrusted::default(),
            version: Untrusted::default(),
            permission_mode,
            cwd,
            first: true,
        };
        vec![began, StreamItem::Event(started), StreamItem::Acp(Reply::Opened(Opened { how, session, mode }))]
    }

    fn turn_ended(&mut self, result: Result<Raw<'_>, Raw<'_>>) -> Vec<StreamItem> {
        let Some(mut turn) = self.turn.take() else { return Vec::new() };
        let mut items = Vec::new();
        turn.flush(&mut self.ledger, &mut items);
        items.extend(self.requests.drop_all().into_iter().map(|id| StreamItem::RequestCancelled { request_id: id.into() }));
        let reply = result.ok().and_then(shaped::<Value>).unwrap_or_default();
        let verdict = match result {
            Ok(_) => verdict::of_turn(&turn, &reply, self.agent.error_text),
            Err(error) => verdict::of_error(error),
        };
        let outcome = TurnOutcome {
            is_error: !matches!(verdict, Verdict::Completed { .. } | Verdict::Interrupted { .. }),
            session_id: self.name.clone(),
            text: turn.text().into(),
            terminal_reason: Some(verdict::word(&verdict).into()),
            stop_reason: reply["stopReason"].as_str().map(|word| head(word, NAME).into()),
            cost_usd: self.cost.1.zip(self.cost.0).map(|(now, before)| (now - before).max(0.0)),
            tokens: verdict::tokens(&reply["usage"]),
            turns: turn.answers,
            duration_ms: u64::try_from(turn.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            verdict,
        };
        self.cost.0 = self.cost.1.or(self.cost.0);
        let api_error_status = match outcome.verdict {
            Verdict::ApiError { status, .. } => status,
            _ => None,
        };
        items.push(StreamItem::Event(EventKind::Result {
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
        }));
        items.push(StreamItem::TurnEnded(Box::new(outcome)));
        items
    }
}
