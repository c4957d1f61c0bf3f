//! A scripted daemon: it sends the messages that Codex 0.166 and 0.169 send, in their order.

use std::collections::BTreeMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::process::until;

/// A running daemon. Dropping it ends it.
pub struct Daemon {
    state: Arc<Mutex<State>>,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

#[derive(Default)]
struct State {
    /// The folder of each session, and its parent.
    threads: BTreeMap<String, (String, Option<String>)>,
    /// The items of each session's turn.
    items: BTreeMap<String, Vec<Value>>,
    /// The requests that wait.
    pending: Vec<Value>,
    /// The decisions that somebody else has made just before a reply comes.
    decided: BTreeMap<String, String>,
    clients: Vec<Client>,
    replies: Vec<Value>,
    calls: Vec<Value>,
    is_deaf: bool,
    is_mute: bool,
    is_over: bool,
    /// The sessions that have nothing to do.
    resting: Vec<String>,
    /// The sessions that the daemon has put away.
    put_away: Vec<String>,
    /// The texts of the turns that clients have begun, with their sessions.
    begun: Vec<(String, String)>,
    /// What happens to the next turn that a client begins.
    at_turn: Option<AtTurn>,
    /// The reply to a turn that waits, with its client.
    late: Option<(usize, Value)>,
}

/// What happens when a client begins a turn.
#[derive(Clone, Copy)]
pub enum AtTurn {
    /// The connection breaks before the daemon has read it.
    Cut,
    /// The connection breaks before the daemon has replied to it.
    CutBehind,
    /// The daemon forgets it, without a reply.
    Lost,
    /// The daemon refuses it.
    Refuse,
    /// The daemon replies to it later: see [`Daemon::replies_to_the_turn`].
    Later,
}

#[derive(Default)]
struct Client {
    outbox: Vec<Value>,
    threads: Vec<String>,
}

impl Daemon {
    /// Starts a daemon whose socket is found below this home.
    pub fn start(home: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("codex-daemon").tempdir_in("/tmp").expect("a folder");
        let real = folder.path().join("s");
        let listener = UnixListener::bind(&real).expect("a socket");
        let socket = super::socket(home);
        std::fs::create_dir_all(socket.parent().expect("a folder")).expect("a folder");
        let _old = std::fs::remove_file(&socket);
        std::os::unix::fs::symlink(&real, &socket).expect("a link");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let mut state = lock(&shared);
                if state.is_over {
                    return;
                }
                state.clients.push(Client::default());
                let n = state.clients.len() - 1;
                drop(state);
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, n, &shared));
            }
        });
        Self { state, socket: real, _folder: folder }
    }

    /// A session that works in this folder.
    pub fn has(&self, thread: &str, cwd: &Path) {
        lock(&self.state).threads.insert(thread.into(), (cwd.display().to_string(), None));
    }

    /// A subagent of a session, in the same folder.
    pub fn has_subagent(&self, thread: &str, parent: &str) {
        let mut state = lock(&self.state);
        let (cwd, _) = state.threads[parent].clone();
        state.threads.insert(thread.into(), (cwd, Some(parent.into())));
    }

    /// The session's turn has this item from now on.
    pub fn begins(&self, thread: &str, item: Value) {
        let mut state = lock(&self.state);
        state.items.entry(thread.into()).or_default().push(item.clone());
        state.tell(Some(thread), &json!({"method": "item/started", "params": {"threadId": thread, "turnId": "turn", "item": item}}));
    }

    /// Lets a session ask. `params` are those beside the ids, and the item is `call_ID`.
    pub fn asks(&self, id: u64, thread: &str, method: &str, params: Value) {
        let mut all = json!({"threadId": thread, "turnId": "turn", "itemId": format!("call_{id}"), "startedAtMs": 1});
        for (name, value) in params.as_object().expect("an object") {
            all[name] = value.clone();
        }
        let request = json!({"id": id, "method": method, "params": all});
        let mut state = lock(&self.state);
        state.pending.push(request.clone());
        state.tell_status(thread);
        state.tell(Some(thread), &request);
    }

    /// Lets a session ask for a command.
    pub fn asks_to_run(&self, id: u64, thread: &str, command: &str) {
        let more = json!({"kind": "command", "command": command, "reason": "needs it", "availableDecisions": ["accept", "cancel"]});
        self.asks(id, thread, "item/commandExecution/requestApproval", more);
    }

    /// A person at the terminal decides about a request.
    pub fn terminal(&self, id: u64, decision: &str) {
        lock(&self.state).decide(&json!(id), decision);
    }

    /// A person at the terminal decides in the same moment as the next reply to this request, and is first.
    pub fn terminal_is_first(&self, id: u64, decision: &str) {
        lock(&self.state).decided.insert(id.to_string(), decision.into());
    }

    /// From now on, nothing comes of a reply.
    pub fn is_deaf(&self) {
        lock(&self.state).is_deaf = true;
    }

    /// From now on, the daemon takes messages and says nothing, as one that hangs does.
    pub fn is_mute(&self) {
        lock(&self.state).is_mute = true;
    }

    /// The session has nothing to do.
    pub fn rests(&self, thread: &str) {
        lock(&self.state).resting.push(thread.into());
    }

    /// The session has something to do.
    pub fn works(&self, thread: &str) {
        let mut state = lock(&self.state);
        state.resting.retain(|resting| resting != thread);
        state.tell_status(thread);
    }

    /// The session has ended its turn, and all clients are told.
    pub fn ends_its_turn(&self, thread: &str) {
        let mut state = lock(&self.state);
        state.resting.push(thread.into());
        state.tell_status(thread);
    }

    /// The daemon puts the session away.
    pub fn puts_away(&self, thread: &str) {
        let mut state = lock(&self.state);
        state.put_away.push(thread.into());
        state.tell_status(thread);
    }

    /// Somebody resumes the session.
    pub fn has_back(&self, thread: &str) {
        let mut state = lock(&self.state);
        state.put_away.retain(|away| away != thread);
        state.tell_status(thread);
    }

    /// The session was removed.
    pub fn loses(&self, thread: &str) {
        lock(&self.state).threads.remove(thread);
    }

    /// This happens to the next turn that a client begins.
    pub fn at_the_next_turn(&self, what: AtTurn) {
        lock(&self.state).at_turn = Some(what);
    }

    /// The daemon replies to the turn whose reply waits.
    pub fn replies_to_the_turn(&self) {
        let mut state = lock(&self.state);
        let (client, reply) = state.late.take().expect("a turn");
        state.clients[client].outbox.push(reply);
    }

    /// The texts of the turns that clients have begun in this session.
    pub fn begun(&self, thread: &str) -> Vec<String> {
        lock(&self.state).begun.iter().filter(|(of, _)| of == thread).map(|(_, text)| text.clone()).collect()
    }

    /// The replies of all clients to requests, as they came.
    pub fn replies(&self) -> Vec<Value> {
        lock(&self.state).replies.clone()
    }

    /// The requests of all clients with this method.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        lock(&self.state).calls.iter().filter(|call| call["method"] == method).map(|call| call["params"].clone()).collect()
    }

    /// Cuts all connections. The daemon still listens.
    pub fn cut(&self) {
        let mut state = lock(&self.state);
        for client in &mut state.clients {
            client.outbox.push(Value::Null);
        }
    }

    /// Waits until a client has asked for the requests of this session.
    pub fn is_asked_for(&self, thread: &str) {
        until("a client resumes the session", || self.calls("thread/resume").iter().any(|params| params["threadId"] == thread));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        lock(&self.state).is_over = true;
        let _woken = UnixStream::connect(&self.socket);
        let _gone = std::fs::remove_file(&self.socket);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Sends a message to all clients, or only to the clients of a session.
    fn tell(&mut self, thread: Option<&str>, message: &Value) {
        for client in &mut self.clients {
            if thread.is_none_or(|thread| client.threads.iter().any(|of| of == thread)) {
                client.outbox.push(message.clone());
            }
        }
    }

    fn waiting(&self, thread: &str) -> Vec<Value> {
        self.pending.iter().filter(|request| request["params"]["threadId"] == thread).cloned().collect()
    }

    fn status(&self, thread: &str) -> Value {
        let flag = |request: &Value| match request["method"].as_str() {
            Some("item/tool/requestUserInput") => "waitingOnUserInput",
            _ => "waitingOnApproval",
        };
        if self.put_away.iter().any(|away| away == thread) {
            return json!({"type": "notLoaded"});
        }
        if self.resting.iter().any(|resting| resting == thread) {
            return json!({"type": "idle"});
        }
        let flags: Vec<_> = self.waiting(thread).iter().map(flag).collect();
        json!({"type": "active", "activeFlags": flags})
    }

    fn tell_status(&mut self, thread: &str) {
        let status = self.status(thread);
        self.tell(None, &json!({"method": "thread/status/changed", "params": {"threadId": thread, "status": status}}));
    }

    fn thread(&self, id: &str) -> Option<Value> {
        let (cwd, parent) = self.threads.get(id)?;
        Some(
            json!({"id": id, "cwd": cwd, "status": self.status(id), "parentThreadId": parent, "agentNickname": parent.as_ref().map(|_| "Ada"),
            "agentRole": null, "preview": "x", "source": "cli", "turns": []}),
        )
    }

    /// The places of a session's turns that have these words.
    fn search(&self, params: &Value) -> Value {
        let words = params["searchTerm"].as_str().expect("words");
        let has = |(of, text): &&(String, String)| params["threadId"] == **of && text.contains(words);
        json!({"data": self.begun.iter().filter(has).map(|_| json!({"turnId": "turn"})).collect::<Vec<_>>(), "nextCursor": null})
    }

    /// The request has ended in this way.
    fn decide(&mut self, id: &Value, decision: &str) {
        let Some(at) = self.pending.iter().position(|request| request["id"] == *id) else { return };
        let request = self.pending.remove(at);
        let thread = request["params"]["threadId"].as_str().expect("a session").to_owned();
        let event = |method: &str, params: Value| json!({"method": method, "params": params});
        self.tell(Some(&thread), &event("serverRequest/resolved", json!({"threadId": thread, "requestId": id})));
        self.tell_status(&thread);
        let item = |status: &str| json!({"type": "commandExecution", "id": request["params"]["itemId"], "status": status});
        // The real one tells of a refusal only those clients that saw the call begin. The watcher comes later.
        let item = match decision {
            "accept" => Some(item("completed")),
            _ => None,
        };
        if let Some(item) = item {
            self.tell(Some(&thread), &event("item/completed", json!({"threadId": thread, "turnId": "turn", "item": item})));
        }
        // A model that is refused a call ends its turn here.
        if ["decline", "cancel", "interrupt"].contains(&decision) {
            let status = if decision == "decline" { "completed" } else { "interrupted" };
            let turn = json!({"id": "turn", "status": status, "items": []});
            self.tell(Some(&thread), &event("turn/completed", json!({"threadId": thread, "turn": turn})));
        }
    }

    /// Returns the result of `turn/start`, `null` for an error, or `None` if the reply comes later or never.
    fn begins_turn(&mut self, client: usize, thread: &str, message: &Value) -> Option<Value> {
        let what = self.at_turn.take();
        if !matches!(what, Some(AtTurn::Cut | AtTurn::Lost | AtTurn::Refuse)) {
            let text = message["params"]["input"][0]["text"].as_str().expect("a text").to_owned();
            self.begun.push((thread.into(), text));
            self.resting.retain(|resting| resting != thread);
        }
        match what {
            Some(AtTurn::Cut | AtTurn::CutBehind) => {
                self.clients[client].outbox.push(Value::Null);
                None
            }
            Some(AtTurn::Lost) => None,
            Some(AtTurn::Refuse) => Some(Value::Null),
            Some(AtTurn::Later) => {
                self.late = Some((client, json!({"id": message["id"], "result": {"turn": {"id": "turn"}}})));
                None
            }
            None => {
                self.tell_status(thread);
                Some(json!({"turn": {"id": "turn"}}))
            }
        }
    }

    fn take(&mut self, client: usize, message: &Value) {
        if self.is_mute {
            return;
        }
        let Some(method) = message["method"].as_str() else {
            self.replies.push(message.clone());
            let id = &message["id"];
            let other = self.decided.remove(&id.to_string());
            // The real one takes an error or an unknown decision as a refusal.
            let decision = message["result"]["decision"].as_str().unwrap_or(if message["result"]["answers"].is_null() {
                "decline"
            } else {
                "answers"
            });
            if !self.is_deaf {
                self.decide(id, other.as_deref().unwrap_or(decision));
            }
            return;
        };
        self.calls.push(message.clone());
        let of = message["params"]["threadId"].as_str().unwrap_or_default().to_owned();
        let result = match method {
            "initialize" => json!({"userAgent": "scripted"}),
            "thread/loaded/list" => json!({"data": self.threads.keys().collect::<Vec<_>>(), "nextCursor": null}),
            "thread/read" | "thread/resume" | "thread/searchOccurrences" if !self.threads.contains_key(&of) => Value::Null,
            "thread/read" => json!({"thread": self.thread(&of)}),
            "thread/searchOccurrences" => self.search(&message["params"]),
            "thread/resume" => {
                let items = self.items.get(&of).cloned().unwrap_or_default();
                json!({"thread": self.thread(&of), "initialTurnsPage": {"data": [{"id": "turn", "items": items, "status": "inProgress"}]}})
            }
            "turn/start" => match self.begins_turn(client, &of, message) {
                Some(result) => result,
                None => return,
            },
            _ => json!({}),
        };
        if message["id"].is_null() {
            return;
        }
        if result.is_null() {
            let error = json!({"code": -32600, "message": format!("thread not found: {of}")});
            self.clients[client].outbox.push(json!({"id": message["id"], "error": error}));
            return;
        }
        self.clients[client].outbox.push(json!({"id": message["id"], "result": result}));
        if method == "thread/resume" {
            self.clients[client].threads.push(of.clone());
            let waiting = self.waiting(&of);
            self.clients[client].outbox.extend(waiting);
        }
        if method == "turn/interrupt" {
            let ids: Vec<_> = self.waiting(&of).iter().map(|request| request["id"].clone()).collect();
            ids.iter().for_each(|id| self.decide(id, "interrupt"));
        }
    }
}

/// Serves one client until it, or the daemon, ends.
fn serve(stream: UnixStream, n: usize, state: &Mutex<State>) {
    let Ok(mut socket) = tungstenite::accept(stream) else { return };
    loop {
        if lock(state).is_over || !send_all(&mut socket, n, state) {
            return;
        }
        if socket.get_ref().set_read_timeout(Some(Duration::from_millis(10))).is_err() {
            return;
        }
        match socket.read() {
            Ok(Message::Text(text)) => lock(state).take(n, &serde_json::from_str(&text).expect("JSON")),
            Ok(_) => {}
            Err(tungstenite::Error::Io(_)) => {}
            Err(_) => break,
        }
    }
    lock(state).clients[n].threads.clear();
}

/// Returns false if the connection is to be cut.
fn send_all(socket: &mut WebSocket<UnixStream>, n: usize, state: &Mutex<State>) -> bool {
    let outbox = std::mem::take(&mut lock(state).clients[n].outbox);
    outbox.iter().all(|message| !message.is_null() && socket.send(Message::text(message.to_string())).is_ok())
}
