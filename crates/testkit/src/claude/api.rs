//! A Messages API on loopback that plays scripts, so that the real `claude` runs without a model or a network. At `/v1/responses` it
//! speaks OpenAI's Responses API: see `openai.rs`.
//!
//! The steps of a script, one object a step (see `script.rs` for how the server finds the script of a request):
//!
//! | step | effect |
//! |---|---|
//! | `{"text":"..."}` | a text reply, which ends the turn |
//! | `{"tool":"Bash","input":{...}}` | one tool call; a `text` beside it is said first |
//! | `{"tools":[{"tool":..,"input":..},..]}` | tool calls in parallel |
//! | `{"slow_text":"..","chunks":n,"chunk_ms":ms}` | text in n pieces, ms apart |
//! | `{"stall":true}` | the stream starts (and says `text`, if given), then hangs |
//! | `{"cut":true,"times":n}` | the connection breaks mid-stream, behind a `text` if given, n times (1), then the next step plays |
//! | `{"status":529,"times":n,"retry_after":s}` | an API error, n times (1), then the next step plays |
//! | `"body":"..."` | in an API error: the body, in place of the usual one |
//! | `"every_session":true` | in an API error: its `times` are counted over all sessions, not in each |
//! | `"resets_at":s` | in an API error: the plan's limit of five hours is reached until this second since 1970 |
//! | `"refuses":true` | beside a `text`: the model refuses to go on |
//! | `"stop":"max_tokens"` | in a reply: why the model stopped; with `"half":true`, in the middle of a call's input |
//! | `{"cut":true,"error":"overloaded_error"}` | in place of the break: the stream reports this error |
//! | `"usage":{..}` | in a reply: tokens in place of the usual ones |
//! | `"delay_ms":ms` | alone or in another step: wait before the first byte |
//! | `"once":"/a/file"` | in a reply: wait before the first byte until this file exists |
//!
//! Past its last step a script answers with the text of the newest tool result: so the final result of a run shows
//! what the model was really told. Every request is kept: what the model received is the strongest assertion.

use crate::claude::openai;
use crate::claude::script::{self, Position, Turn};
use crate::http::{Connection, Incoming};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A request that reached the API.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// The parsed body; null when there was none.
    pub body: Value,
    pub at: Instant,
    /// A request of the CLI's own (a title, a summary), which plays no step of a script.
    pub side: bool,
}

impl Request {
    /// A turn of the model, as opposed to a probe, a token count or a side request.
    pub fn is_turn(&self) -> bool {
        self.method == "POST" && ["/v1/messages", "/v1/responses"].contains(&self.path.as_str()) && !self.side
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// All that the model was told in the conversation: messages of users and of the CLI, and tool results. The system prompt and the
    /// model's own words are left out.
    pub fn model_text(&self) -> String {
        let told = self.messages().iter().filter(|m| m["role"] != "assistant");
        told.map(text_of).collect::<Vec<_>>().join("\n")
    }

    /// The model's earlier words, as the CLI remembers them.
    pub fn assistant_text(&self) -> String {
        let said = self.messages().iter().filter(|m| m["role"] == "assistant");
        said.map(text_of).collect::<Vec<_>>().join("\n")
    }

    /// The texts of all tool results, oldest first.
    pub fn tool_results(&self) -> Vec<String> {
        self.messages()
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(text_of)
            .collect()
    }

    /// The session that asks; the CLI puts it into the metadata.
    pub fn session_id(&self) -> Option<String> {
        let user = self.body["metadata"]["user_id"].as_str()?;
        let parsed: Value = serde_json::from_str(user).ok()?;
        parsed["session_id"].as_str().map(str::to_owned)
    }

    /// The names of the tools offered to the model.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }
}

/// The text in a message or a tool result, nested results included.
fn text_of(value: &Value) -> String {
    match &value["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["text"].as_str() {
                Some(text) => text.to_owned(),
                None => text_of(block),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[derive(Default)]
struct State {
    log: Vec<Request>,
    scripts: Vec<(String, Vec<Value>)>,
    /// How often each faulty turn was tried.
    tries: HashMap<String, usize>,
    /// Kept to break what is still open when the server goes.
    open: Vec<TcpStream>,
    closing: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that fails while it looks at the log must not hide its message behind a poisoned lock.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The running server; dropping it breaks every connection and ends its threads.
pub struct Api {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl Api {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared::default());
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { shared, address, acceptor: Some(acceptor) }
    }

    /// The value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Plays `steps` (a JSON array) for conversations whose newest scripted message contains `marker`.
    /// A later registration of the same marker replaces the earlier one.
    pub fn on(&self, marker: &str, steps: Value) {
        let Value::Array(steps) = steps else {
            panic!("the steps for {marker:?} are no JSON array");
        };
        let mut state = self.shared.lock();
        state.scripts.retain(|(known, _)| known != marker);
        state.scripts.push((marker.to_owned(), steps));
    }

    /// Everything received so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().log.clone()
    }

    /// The model's turns so far: without probes, token counts and side requests.
    pub fn turns(&self) -> Vec<Request> {
        let all = self.requests();
        all.into_iter().filter(Request::is_turn).collect()
    }

    /// The turns that told the model `text`.
    pub fn requests_with_text(&self, text: &str) -> Vec<Request> {
        let turns = self.turns().into_iter();
        turns.filter(|turn| turn.model_text().contains(text)).collect()
    }

    /// Waits until the log satisfies `enough`, and returns it; panics with what did come after `limit`.
    #[track_caller]
    pub fn wait_for(&self, enough: impl Fn(&[Request]) -> bool, limit: Duration) -> Vec<Request> {
        let state = self.shared.lock();
        let (state, timed_out) = self
            .shared
            .changed
            .wait_timeout_while(state, limit, |state| !enough(&state.log))
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let log = state.log.clone();
        drop(state);
        assert!(!timed_out.timed_out(), "the API did not get what the test waits for within {limit:?}; it got:\n{}", digest(&log));
        log
    }

    /// Waits for the `count`th turn (from 1) that told the model `text`, and returns that turn.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str, count: usize, limit: Duration) -> Request {
        let has = |r: &&Request| r.is_turn() && r.model_text().contains(text);
        let log = self.wait_for(|log| log.iter().filter(has).count() >= count, limit);
        log.iter().filter(has).nth(count - 1).cloned().expect("it")
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let open = {
            let mut state = self.shared.lock();
            state.closing = true;
            std::mem::take(&mut state.open)
        };
        for stream in open {
            // The client may have closed it first.
            let _gone = stream.shutdown(Shutdown::Both);
        }
        // Wakes the acceptor, which then sees that it is over.
        let _woken = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ended = acceptor.join();
        }
    }
}

/// A readable summary of a log, for failure messages.
pub fn digest(log: &[Request]) -> String {
    let lines = log.iter().map(|request| {
        let text = request.model_text();
        let tail: Vec<char> = text.chars().rev().take(300).collect();
        let tail: String = tail.into_iter().rev().collect();
        let side = if request.side { " (side)" } else { "" };
        format!("{} {}{side}: …{tail}", request.method, request.path)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let mut state = shared.lock();
        if state.closing {
            return;
        }
        if let Ok(handle) = stream.try_clone() {
            state.open.push(handle);
        }
        drop(state);
        let shared = Arc::clone(shared);
        // A client that goes away in the middle is an everyday event here, not a failure of the test.
        std::thread::spawn(move || drop(serve(stream, &shared)));
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let closer = stream.try_clone()?;
    let mut connection = Connection::new(stream)?;
    while let Some(incoming) = connection.read()? {
        if !answer(&mut connection, incoming, shared)? {
            break;
        }
    }
    closer.shutdown(Shutdown::Both)
}

/// Answers one request; false when the connection must end.
fn answer(to: &mut Connection, incoming: Incoming, shared: &Shared) -> io::Result<bool> {
    let path = incoming.path.split('?').next().unwrap_or_default();
    let request = Request {
        body: serde_json::from_slice(&incoming.body).unwrap_or(Value::Null),
        path: path.to_owned(),
        at: Instant::now(),
        side: false,
        method: incoming.method,
    };
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/messages") => play(to, request, shared),
        ("POST", "/v1/responses") => {
            let body = openai::as_messages(&request.body);
            play(to, Request { body, ..request }, shared)
        }
        ("POST", "/v1/messages/count_tokens") => {
            record(shared, request);
            to.reply(200, "", r#"{"input_tokens":1000}"#).map(|()| true)
        }
        ("HEAD", path) => {
            let status = if path == "/" { 200 } else { 404 };
            record(shared, request);
            to.head(status).map(|()| true)
        }
        _ => {
            record(shared, request);
            let body = error_body("not_found_error");
            to.reply(404, "", &body).map(|()| true)
        }
    }
}

fn record(shared: &Shared, request: Request) {
    shared.lock().log.push(request);
    shared.changed.notify_all();
}

/// What is to be done for one request of the model.
enum Act {
    Fault(Value),
    Reply(Value, u64),
}

fn play(to: &mut Connection, mut request: Request, shared: &Shared) -> io::Result<bool> {
    let scripts = shared.lock().scripts.clone();
    let position = script::locate(request.messages(), &scripts);
    // The CLI always offers tools to a conversation and none to its small side requests.
    request.side = request.tools().is_empty() && position.is_none();
    let body = request.body.clone();
    let is_openai = request.path == "/v1/responses";
    let act = choose(&request, position, shared);
    record(shared, request);
    match act {
        Act::Fault(step) => fault(to, &body, &step),
        Act::Reply(step, delay_ms) => {
            if delay_ms > 0 && !to.pause(Some(Duration::from_millis(delay_ms))) {
                return Ok(false);
            }
            while step["once"].as_str().is_some_and(|file| !Path::new(file).exists()) {
                if !to.pause(Some(Duration::from_millis(10))) {
                    return Ok(false);
                }
            }
            if is_openai {
                let reply = openai::response(&unique("resp"), &body["model"], &blocks(&step));
                if body["stream"] == true {
                    to.start_stream()?;
                    openai::events(&reply).iter().try_for_each(|event| to.event(event))?;
                    return to.end_stream().map(|()| true);
                }
                return to.reply(200, "", &reply.to_string()).map(|()| true);
            }
            speak(to, &body, &step)
        }
    }
}

fn choose(request: &Request, position: Option<Position>, shared: &Shared) -> Act {
    if request.side {
        return Act::Reply(json!({"text": r#"{"title":"A scripted test"}"#}), 0);
    }
    let newest = request.tool_results().pop();
    let fallback = json!({"text": newest.unwrap_or_else(|| "nothing scripted".to_owned())});
    let Some(position) = position else { return Act::Reply(fallback, 0) };
    let Some(turn) = script::turns(&position.steps).into_iter().nth(position.turn) else { return Act::Reply(fallback, 0) };
    let Turn { faults, reply, delay_ms } = turn;
    // Counted per session and place: parallel runs of one prompt each get their own failures.
    let session = request.session_id().filter(|_| !faults.iter().any(|fault| fault["every_session"] == true));
    let key = format!("{session:?} {} {} {:?}", position.message, position.turn, position.steps);
    let mut state = shared.lock();
    let tries = state.tries.entry(key).or_insert(0);
    let fault = faults.get(*tries).cloned();
    *tries += 1;
    match fault {
        Some(step) => Act::Fault(step),
        None => Act::Reply(reply.unwrap_or(fallback), delay_ms),
    }
}

fn fault(to: &mut Connection, body: &Value, step: &Value) -> io::Result<bool> {
    let Some(status) = step["status"].as_u64() else {
        // A cut: the headers, the start of the message and its text, then nothing more.
        to.start_stream()?;
        to.event(&message_start(body))?;
        for (index, block) in blocks(step).iter().enumerate() {
            say_block(to, index, block, &json!({"stall": true}))?;
        }
        if let Some(kind) = step["error"].as_str() {
            to.event(&serde_json::from_str(&error_body(kind)).map_err(io::Error::other)?)?;
        }
        return Ok(false);
    };
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let mut extra = step["retry_after"].as_u64().map_or_else(String::new, |seconds| format!("retry-after: {seconds}\r\n"));
    if let Some(at) = step["resets_at"].as_u64() {
        for (name, value) in [("status", "rejected"), ("representative-claim", "five_hour"), ("reset", &at.to_string())] {
            extra += &format!("anthropic-ratelimit-unified-{name}: {value}\r\n");
        }
    }
    let status = u16::try_from(status).map_err(io::Error::other)?;
    let body = step["body"].as_str().map_or_else(|| error_body(kind), str::to_owned);
    to.reply(status, &extra, &body).map(|()| true)
}

fn error_body(kind: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": "scripted"}}).to_string()
}

/// Says one step, as a stream or as a whole, as the request wants it.
fn speak(to: &mut Connection, body: &Value, step: &Value) -> io::Result<bool> {
    let stall = step["stall"] == true;
    let blocks = blocks(step);
    let tools = blocks.iter().any(|block| block["type"] == "tool_use");
    let reason = match step["stop"].as_str() {
        Some(reason) => reason,
        None if step["refuses"] == true => "refusal",
        None if tools => "tool_use",
        None => "end_turn",
    };
    if body["stream"] != true {
        if stall {
            to.pause(None);
            return Ok(false);
        }
        let mut message = message_start(body)["message"].take();
        message["content"] = Value::Array(blocks);
        message["stop_reason"] = reason.into();
        message["usage"]["output_tokens"] = 100.into();
        return to.reply(200, "", &message.to_string()).map(|()| true);
    }
    to.start_stream()?;
    to.event(&message_start(body))?;
    for (index, block) in blocks.iter().enumerate() {
        if !say_block(to, index, block, step)? {
            return Ok(false);
        }
    }
    if stall {
        to.pause(None);
        return Ok(false);
    }
    let usage = step.get("usage").cloned().unwrap_or_else(|| json!({"output_tokens": 100}));
    to.event(&json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage}))?;
    to.event(&json!({"type": "message_stop"}))?;
    to.end_stream().map(|()| true)
}

fn say_block(to: &mut Connection, index: usize, block: &Value, step: &Value) -> io::Result<bool> {
    let mut start = block.clone();
    let deltas: Vec<Value> = if block["type"] == "text" {
        start["text"] = "".into();
        let text = block["text"].as_str().unwrap_or_default();
        let pieces = pieces(text, step["chunks"].as_u64().unwrap_or(1));
        let delta = |piece| json!({"type": "text_delta", "text": piece});
        pieces.into_iter().map(delta).collect()
    } else {
        start["input"] = json!({});
        let input = block["input"].to_string();
        let said = if step["half"] == true { &input[..input.len() / 2] } else { &input };
        vec![json!({"type": "input_json_delta", "partial_json": said})]
    };
    to.event(&json!({"type": "content_block_start", "index": index, "content_block": start}))?;
    let gap = step["chunk_ms"].as_u64().map(Duration::from_millis);
    for (at, delta) in deltas.into_iter().enumerate() {
        if at > 0 && gap.is_some() && !to.pause(gap) {
            return Ok(false);
        }
        to.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
    }
    if step["stall"] != true {
        to.event(&json!({"type": "content_block_stop", "index": index}))?;
    }
    Ok(true)
}

/// Cuts a text into about `count` pieces of whole characters.
fn pieces(text: &str, count: u64) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let count = usize::try_from(count).unwrap_or(1).max(1);
    let size = letters.len().div_ceil(count).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// The content blocks of a step's reply.
fn blocks(step: &Value) -> Vec<Value> {
    let mut blocks = Vec::new();
    for key in ["text", "slow_text"] {
        if let Some(text) = step[key].as_str() {
            blocks.push(json!({"type": "text", "text": text}));
        }
    }
    let several = step["tools"].as_array().into_iter().flatten();
    for call in several.chain(step.get("tool").map(|_| step)) {
        let input = call.get("input").cloned().unwrap_or_else(|| json!({}));
        blocks.push(json!({"type": "tool_use", "id": unique("toolu"), "name": call["tool"], "input": input}));
    }
    blocks
}

fn message_start(body: &Value) -> Value {
    json!({"type": "message_start", "message": {
        "id": unique("msg"), "type": "message", "role": "assistant", "model": body["model"], "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1000, "output_tokens": 1,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}})
}

/// An id that no other server of this or another test process gives out: transcripts outlive servers.
fn unique(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}_{:08x}{number:08x}", std::process::id())
}
