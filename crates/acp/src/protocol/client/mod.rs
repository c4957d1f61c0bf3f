//! The two sides of the conversation with one agent process: our requests out, the agent's lines in.
//!
//! A line is made here, and written by the caller. So a prompt counts as made before the agent can have read it.
//! `lines_in` reads the agent's lines.

mod lines_in;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::protocol::envelope;
use crate::protocol::own_server::OwnServer;
use crate::protocol::permission::Choice;
use crate::protocol::replay::{PlayedBack, Replay};
use crate::protocol::replies::{self, AgentInfo, Asked};
use crate::protocol::requests::Requests;
use crate::protocol::turn::Turn;
use askbox_agent::presets::{PLAIN, Preset};
use askbox_agent::stream::FormReply;
use askbox_agent::stream::ledger::Ledger;
use askbox_mailbox::Untrusted;

/// Where a session works.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionPlace {
    /// The working folder.
    pub cwd: PathBuf,
    /// Further folders that it may work in, if the agent takes them.
    pub folders: Vec<PathBuf>,
    /// The mode that it is put into once it is open; empty for the agent's own.
    pub mode: String,
    /// The server with askbox's tools, if it is offered.
    pub server: Option<OwnServer>,
    /// US dollars for a million tokens of input and of output, for an agent that tells no cost.
    pub prices: Option<[f64; 2]>,
}

/// The conversation with one agent process.
#[derive(Debug)]
pub struct Client {
    /// The session's name in askbox's records.
    name: Untrusted,
    place: SessionPlace,
    agent: Preset,
    /// The ids begin with a number that follows from the session's name, so that words in a line cannot guess the reply to one of them.
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
    /// True if an event says that lines hold other bytes beside their message.
    dirt_noted: bool,
}

impl Client {
    /// For a process that has said nothing yet. `name` is the session's id in askbox's records, `preset` what is known about the agent.
    pub fn new(name: &str, place: SessionPlace, preset: Option<&'static Preset>) -> Self {
        // 30 bits of the session's UUID, which every JSON-RPC library takes; 0 for another name.
        let digits = name.get(..8).filter(|_| name.len() == 36).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        Self {
            name: name.into(),
            place,
            agent: *preset.unwrap_or(&PLAIN),
            last_id: digits.unwrap_or(0) & 0x3fff_ffff,
            asked: Vec::new(),
            info: AgentInfo::default(),
            session: None,
            replay: Replay::default(),
            turn: None,
            requests: Requests::default(),
            ledger: Ledger::default(),
            cost: (None, None),
            dirt_noted: false,
        }
    }

    /// The session's working folder.
    pub fn cwd(&self) -> &std::path::Path {
        &self.place.cwd
    }

    /// True if the agent has played back a message with this marker. [`load`](Self::load) names the markers.
    pub fn has_seen(&self, marker: &str) -> bool {
        self.replay.has_seen(marker)
    }

    /// The calls that the agent has played back behind messages with these markers.
    pub fn calls_behind(&self, markers: &[String]) -> PlayedBack {
        self.replay.calls_behind(markers)
    }

    /// True if the agent has played back anything.
    pub fn has_seen_history(&self) -> bool {
        self.replay.has_history
    }

    /// True while a turn goes on.
    pub fn has_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// The method of the oldest request that the agent has not answered.
    pub fn unanswered(&self) -> Option<&'static str> {
        self.asked.first().map(|(_, asked)| asked.method())
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

    /// Continues a session, whose history is played back, and looks for markers in it.
    pub fn load(&mut self, session: &str, markers: Vec<String>) -> String {
        self.replay = Replay::looking_for(markers);
        self.continue_by(Asked::Load, session)
    }

    fn continue_by(&mut self, asked: Asked, session: &str) -> String {
        self.session = Some(session.to_owned());
        let mut params = self.place_params();
        params["sessionId"] = session.into();
        self.request(asked, params)
    }

    fn place_params(&self) -> Value {
        let mut params = json!({
            "cwd": self.place.cwd.display().to_string(),
            "mcpServers": self.place.server.iter().map(|server| server.offer(self.agent.asks_as)).collect::<Vec<_>>(),
        });
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
        self.turn = Some(Turn::begin(self.agent, &self.place.cwd));
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

    /// The files that the agent's calls wrote.
    pub fn files(&self) -> &[Untrusted] {
        &self.ledger.files
    }
}
