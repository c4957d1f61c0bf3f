//! The agent's lines in: each becomes items for the supervisor, and changes the state of the conversation.

use agent_client_protocol_schema::v1::{RequestPermissionRequest, SessionNotification, SessionUpdate};
use serde_json::Value;

use crate::protocol::client::Client;
use crate::protocol::envelope::{self, Envelope, shaped};
use crate::protocol::forms::{self, FormRequest, WaitingForm};
use crate::protocol::item::{Item, Permission};
use crate::protocol::permission::{self, WaitingCall};
use crate::protocol::replies::{self, AgentInfo, AgentReply, Asked, Opened};
use crate::protocol::unread::Subject;
use crate::protocol::{tool, verdict};
use askbox_agent::events::Tokens;
use askbox_agent::stream::bounded::{NAME, head};
use askbox_agent::stream::lines::Line;
use askbox_agent::stream::wire::{Raw, repair};
use askbox_agent::stream::{self, PermissionRequest, TurnOutcome, Verdict, dirty_line, note_of_dirt};
use askbox_agent::{EventKind, StreamItem};
use askbox_mailbox::Untrusted;

/// The largest input that a person decides about, in bytes, as for `claude`.
const LARGEST_INPUT: usize = 256 << 10;

/// The most US dollars that a session can have cost. An agent that tells more tells nothing.
const MOST: f64 = 1e9;

impl Client {
    /// The items of this line, in order. A line without meaning for askbox becomes one event `raw`.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<Item> {
        if line.over_limit {
            self.note_cut(&Subject::of_line(line.text));
            return raw("over_limit", line, true);
        }
        if let Some(items) = self.read(line) {
            return items;
        }
        if let Some(repaired) = repair(line.text)
            && let Some(items) = self.read(&line.with_text(&repaired))
        {
            return items;
        }
        if let Some(found) = dirty_line::message_in(line.text)
            && let Some(mut items) = self.read(&line.with_text(&found.line))
        {
            if found.has_words {
                // They may be another message.
                self.note_cut(&Subject::of_line(line.text));
            }
            items.splice(0..0, note_of_dirt(line, &mut self.dirt_noted).map(Item::from));
            return items;
        }
        self.note_cut(&Subject::of_line(line.text));
        raw(if line.torn { "torn" } else { "not_json" }, line, true)
    }

    fn note_cut(&mut self, subject: &Subject) {
        self.turn.iter_mut().for_each(|turn| turn.calls.note_cut(subject));
    }

    /// `None` if the line is not a JSON object.
    fn read(&mut self, line: &Line<'_>) -> Option<Vec<Item>> {
        Some(match envelope::read(line.text).ok()? {
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

    fn requested(&mut self, line: &Line<'_>, id: String, method: &str, params: Raw<'_>) -> Vec<Item> {
        match method {
            "session/request_permission" => self.permission_asked(line, id, params),
            "elicitation/create" => self.form_asked(line, id, params),
            _ => refused(&format!("acp/{}", head(method, 64)), line, envelope::no_such_method(&id, head(method, NAME))),
        }
    }

    fn form_asked(&mut self, line: &Line<'_>, id: String, params: Raw<'_>) -> Vec<Item> {
        let read = shaped::<FormRequest<'_>>(params).filter(|asked| asked.session().is_some_and(|id| Some(id) == self.session));
        let (Some(asked), true) = (read, self.turn.is_some() && self.requests.has_room_for(&id)) else {
            return refused("acp/elicitation", line, forms::cancelled(&id));
        };
        let (question, form) = asked.question(id, params, line);
        self.requests.forms.push(form);
        vec![StreamItem::Elicitation(Box::new(question)).into()]
    }

    fn permission_asked(&mut self, line: &Line<'_>, id: String, params: Raw<'_>) -> Vec<Item> {
        let read = shaped::<RequestPermissionRequest>(params).filter(|asked| self.session.as_deref() == Some(&*asked.session_id.0));
        if read.is_none() {
            self.note_cut(&Subject::of_params(params, self.session.as_deref()));
        }
        let is_whole = params.is_none_or(|params| line.dropped_in(params.get()) == 0);
        let room = self.requests.has_room_for(&id);
        let (Some(asked), Some(turn), true) = (read, self.turn.as_mut(), room) else {
            return refused("acp/request_permission", line, permission::cancelled(&id));
        };
        let mut items = Vec::new();
        turn.called(&asked.tool_call, true, &mut self.ledger, &mut items);
        let mut items: Vec<Item> = items.into_iter().map(Item::from).collect();
        if let Some(question) = forms::in_permission(&id, &asked, params, line) {
            items.push(StreamItem::Elicitation(Box::new(question)).into());
            self.requests.forms.push(WaitingForm::of_permission(WaitingCall { id, options: asked.options }));
            return items;
        }
        let call = turn.calls.find(&asked.tool_call.tool_call_id.0);
        let (tool_name, input) = call.map(|call| turn.calls.words(call)).unwrap_or_default();
        let description = call.map(|call| call.title.clone()).unwrap_or_default();
        let has_input = call.is_some_and(|call| turn.calls.is_whole(call));
        let request = PermissionRequest {
            request_id: id.as_str().into(),
            complete: is_whole && has_input && input.to_string().len() <= LARGEST_INPUT,
            needs_nobody: None,
            cwd: Some(self.place.cwd.clone()),
            tool_name,
            input,
            tool_use_id: head(&asked.tool_call.tool_call_id.0, NAME).into(),
            description: description.into(),
            requires_user_interaction: false,
            subagent: None,
        };
        items.push(Item::Permission(Permission {
            is_own_tool: is_whole && self.place.server.is_some() && call.is_some_and(|call| turn.calls.is_own_tool(call)),
            is_plain: tool::is_plain(request.tool_name.raw(), &request.input, &self.place.cwd),
            request,
        }));
        self.requests.calls.push(WaitingCall { id, options: asked.options });
        items
    }

    fn notified(&mut self, line: &Line<'_>, method: &str, params: Raw<'_>) -> Vec<Item> {
        match method {
            "session/update" => self.updated(line, params),
            "$/cancel_request" => {
                let named = shaped::<Value>(params).and_then(|all| all.get("requestId").cloned()).unwrap_or_default();
                vec![StreamItem::RequestCancelled { request_id: self.requests.taken_back(&named).into() }.into()]
            }
            other => raw(&format!("acp/{}", head(other, 64)), line, false),
        }
    }

    fn updated(&mut self, line: &Line<'_>, params: Raw<'_>) -> Vec<Item> {
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
                let sign = info.meta.as_ref().and_then(verdict::in_session_info);
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
                items.into_iter().map(Item::from).collect()
            }
            // Before the prompt: the history, or words of the agent program. Behind the result: late.
            (SessionUpdate::UserMessageChunk(chunk), None) => {
                if let agent_client_protocol_schema::v1::ContentBlock::Text(text) = &chunk.content {
                    self.replay.told(&text.text);
                }
                Vec::new()
            }
            (update, None) => {
                match update {
                    SessionUpdate::ToolCall(call) => self.replay.called(&call.tool_call_id, Some(call.status)),
                    SessionUpdate::ToolCallUpdate(call) => self.replay.called(&call.tool_call_id, call.fields.status),
                    _ => self.replay.other(),
                }
                Vec::new()
            }
            (_, Some(_)) => raw("acp/update", line, false),
        }
    }

    fn replied(&mut self, line: &Line<'_>, asked: Asked, result: Result<Raw<'_>, Raw<'_>>) -> Vec<Item> {
        let result = match (asked, result) {
            (Asked::Prompt, result) => return self.turn_ended(result),
            (Asked::Close, _) => return Vec::new(),
            (_, Ok(result)) => result,
            (_, Err(error)) => {
                let (code, message) = replies::error(error);
                return vec![Item::Replied(AgentReply::Failed { asked, code, message: message.into() })];
            }
        };
        match asked {
            Asked::Initialize => {
                self.info = AgentInfo::of(result);
                vec![Item::Replied(AgentReply::Initialized(self.info.clone()))]
            }
            Asked::Mode => vec![Item::Replied(AgentReply::ModeSet)],
            _ => self.opened(line, asked, result),
        }
    }

    fn opened(&mut self, line: &Line<'_>, how: Asked, result: Raw<'_>) -> Vec<Item> {
        let reply = shaped::<Value>(result).unwrap_or_default();
        let named = reply["sessionId"].as_str().map(str::to_owned);
        let resumed = self.session.clone();
        // A session that is continued keeps its id, whatever the reply says.
        let Some(session) = resumed.clone().or(named).filter(|id| !id.is_empty() && id.len() <= NAME) else {
            let mut items = raw("acp/session", line, false);
            let message = "the agent names no session".into();
            items.push(Item::Replied(AgentReply::Failed { asked: how, code: 0, message }));
            return items;
        };
        self.session = Some(session.clone());
        let mode = reply["modes"]["currentModeId"].as_str().map(str::to_owned);
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
        vec![began.into(), StreamItem::Event(started).into(), Item::Replied(AgentReply::Opened(Opened { how, session, mode }))]
    }

    fn turn_ended(&mut self, result: Result<Raw<'_>, Raw<'_>>) -> Vec<Item> {
        let Some(mut turn) = self.turn.take() else { return Vec::new() };
        let mut items = Vec::new();
        turn.flush(&mut self.ledger, &mut items);
        items.extend(self.requests.drop_all().into_iter().map(|id| StreamItem::RequestCancelled { request_id: id.into() }));
        let reply = result.ok().and_then(shaped::<Value>).unwrap_or_default();
        let verdict = match result {
            Ok(_) => verdict::of_turn(&turn, &reply, self.agent.error_text),
            Err(error) => verdict::of_error(error),
        };
        let tokens = verdict::tokens(&reply["usage"]);
        let told = self.cost.1.zip(self.cost.0).map(|(now, before)| (now - before).max(0.0));
        let outcome = TurnOutcome {
            is_error: !matches!(verdict, Verdict::Completed { .. } | Verdict::Interrupted { .. }),
            session_id: self.name.clone(),
            text: turn.text().into(),
            terminal_reason: Some(verdict::word(&verdict).into()),
            stop_reason: reply["stopReason"].as_str().map(|word| head(word, NAME).into()),
            cost_usd: told.or_else(|| self.place.prices.map(|prices| priced(&tokens, prices))),
            tokens,
            turns: turn.answers,
            duration_ms: u64::try_from(turn.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            verdict,
        };
        self.cost.0 = self.cost.1.or(self.cost.0);
        items.extend(outcome.into_items(&self.ledger.files));
        items.into_iter().map(Item::from).collect()
    }
}

/// US dollars of these tokens. Tokens from a cache count as any others, because nobody knows what they cost.
fn priced(tokens: &Tokens, [input, output]: [f64; 2]) -> f64 {
    let read = tokens.input + tokens.cache_read + tokens.cache_creation;
    (read as f64 * input + tokens.output as f64 * output) / 1e6
}

/// A request that nobody is asked about, and the reply to it.
fn refused(what: &str, line: &Line<'_>, reply: String) -> Vec<Item> {
    let mut items = raw(what, line, false);
    items.push(Item::Say(reply));
    items
}

fn raw(what: &str, line: &Line<'_>, with_head: bool) -> Vec<Item> {
    stream::raw(what, line, with_head).into_iter().map(Item::from).collect()
}
