//! A model API on loopback, which plays scripts. It has OpenAI's two forms, `/v1/responses` (codex, copilot) and `/v1/chat/completions`
//! (kimi, opencode, pi, qwen), and the forms of Gemini (`openai/gemini.rs`) and Anthropic (`openai/messages.rs`).
//!
//! The newest message of the user that contains a registered marker says which script plays. A script may depend on what the model has been
//! told up to that message. The step is counted by the model's turns behind that message. A step is `{"text": T}`, or `{"tool": NAME, "input": {…}}`, with
//! `"namespace"` for an MCP tool in codex, or `{"tools": [{"tool": …}, …]}` for several calls at once (`/v1/chat/completions` only). A request without a script gets the text `ok`, as do
//! an agent's own requests for titles.

mod gemini;
mod messages;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::{Connection, Incoming};

/// Makes the steps from what the model has been told.
type Script = Box<dyn Fn(&[String]) -> Vec<Value> + Send>;

#[derive(Default)]
struct State {
    scripts: Vec<(String, Script)>,
    told: Vec<Vec<String>>,
    calls: u64,
    closing: bool,
}

/// The running server.
pub struct OpenAi {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
}

/// The speaker of a part of a conversation.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    User,
    Model,
    /// The input of a call that has a result. It stands in front of that result.
    Answered,
    Result,
}

impl OpenAi {
    /// Starts it.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                if lock(&shared).closing {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { state, address }
    }

    /// The base URL of OpenAI's forms, with `/v1`.
    pub fn url(&self) -> String {
        format!("{}/v1", self.root_url())
    }

    /// The base URL of the other forms.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Plays these steps for conversations whose newest scripted message contains `marker`.
    pub fn on(&self, marker: &str, steps: Value) {
        let Value::Array(steps) = steps else { panic!("the steps for {marker:?} are a list") };
        self.on_knowing(marker, move |_| steps.clone());
    }

    /// The same with a script that depends on what the model has been told up to that message: the texts of users and results, and the
    /// input of each call that has a result.
    pub fn on_knowing(&self, marker: &str, script: impl Fn(&[String]) -> Vec<Value> + Send + 'static) {
        lock(&self.state).scripts.push((marker.to_owned(), Box::new(script)));
    }

    /// The texts of users and results in each scripted request, oldest request first.
    pub fn told(&self) -> Vec<Vec<String>> {
        lock(&self.state).told.clone()
    }
}

impl Drop for OpenAi {
    fn drop(&mut self) {
        lock(&self.state).closing = true;
        let _woken = TcpStream::connect(self.address);
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut connection = Connection::new(stream)?;
    while let Some(incoming) = connection.read()? {
        answer(&mut connection, &incoming, state)?;
    }
    Ok(())
}

/// One form of the API.
struct Form {
    /// The conversation of a request.
    of: fn(&Value) -> Vec<(Who, String)>,
    /// The events of a streamed reply. The last is the whole reply.
    events: fn(&Value, &str) -> Vec<Value>,
    /// Writes one event.
    write: fn(&mut Connection, &Value) -> io::Result<()>,
}

/// An event without a name.
fn plain(to: &mut Connection, event: &Value) -> io::Result<()> {
    to.data(&event.to_string())
}

const RESPONSES: Form = Form { of: of_responses, events: response_events, write: Connection::event };
const CHAT: Form = Form { of: of_chat, events: chat_events, write: plain };
const GEMINI: Form = Form { of: gemini::of, events: gemini::events, write: plain };
const MESSAGES: Form = Form { of: messages::of, events: messages::events, write: Connection::event };

fn answer(to: &mut Connection, incoming: &Incoming, state: &Mutex<State>) -> io::Result<()> {
    let path = incoming.path.split('?').next().unwrap_or_default();
    let body: Value = serde_json::from_slice(&incoming.body).unwrap_or_default();
    let is = |end: &str| path.ends_with(end);
    let (form, is_streamed) = match path {
        _ if is("/responses") => (RESPONSES, body["stream"] == true),
        _ if is("/chat/completions") => (CHAT, body["stream"] == true),
        _ if is("/messages") => (MESSAGES, body["stream"] == true),
        _ if is("enerateContent") => (GEMINI, is(":streamGenerateContent")),
        _ if is("/count_tokens") || is(":countTokens") => return to.reply(200, "", r#"{"input_tokens":100,"totalTokens":100}"#),
        _ if is("/models") => return to.reply(200, "", r#"{"object":"list","data":[],"models":[]}"#),
        _ => return to.reply(404, "", r#"{"error":{"message":"no such path"}}"#),
    };
    let (step, call) = pick(&(form.of)(&body), state);
    let events = (form.events)(&step, &call);
    if !is_streamed {
        return to.reply(200, "", &events.last().expect("an end").to_string());
    }
    to.start_stream()?;
    for event in &events {
        (form.write)(to, event)?;
    }
    if is("/chat/completions") {
        to.data("[DONE]")?;
    }
    to.end_stream()
}

/// The step of this conversation, and an id for its call.
fn pick(said: &[(Who, String)], state: &Mutex<State>) -> (Value, String) {
    let mut state = lock(state);
    state.calls += 1;
    let call = format!("call_{}", state.calls);
    let scripted = |text: &String| state.scripts.iter().rev().find(|(marker, _)| text.contains(marker.as_str()));
    let newest = said.iter().enumerate().rev().find_map(|(at, (who, text))| Some((at, scripted(text).filter(|_| *who == Who::User)?)));
    let Some((at, (_, script))) = newest else { return (json!({"text": "ok"}), call) };
    let known: Vec<_> = said[..=at].iter().filter(|(who, _)| *who != Who::Model).map(|(_, text)| text.clone()).collect();
    let steps = script(&known);
    let turn = said[at..].iter().filter(|(who, _)| *who == Who::Model).count();
    let step = steps.get(turn).cloned().unwrap_or_else(|| json!({"text": "the script is over"}));
    let told = said.iter().filter(|(who, _)| matches!(who, Who::User | Who::Result)).map(|(_, text)| text.clone()).collect();
    state.told.push(told);
    (step, call)
}

fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(|part| part["text"].as_str().map_or_else(|| flat(&part["content"]), str::to_owned)).collect()
        }
        _ => String::new(),
    }
}

/// The conversation of a Responses request. Items of the model that follow each other are one turn.
fn of_responses(body: &Value) -> Vec<(Who, String)> {
    let mut said: Vec<(Who, String)> = Vec::new();
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind.ends_with("_output") {
            let is_call = |other: &&Value| other["call_id"] == item["call_id"] && other["arguments"].is_string();
            said.extend(body["input"].as_array().into_iter().flatten().find(is_call).map(|call| (Who::Answered, flat(&call["arguments"]))));
            said.push((Who::Result, flat(&item["output"])));
        } else if kind.ends_with("_call") || kind == "reasoning" || item["role"] == "assistant" {
            if said.last().is_none_or(|(who, _)| *who != Who::Model) {
                said.push((Who::Model, String::new()));
            }
        } else if item["role"] == "user" {
            said.push((Who::User, flat(&item["content"])));
        }
    }
    said
}

fn of_chat(body: &Value) -> Vec<(Who, String)> {
    let messages = || body["messages"].as_array().into_iter().flatten();
    let mut said = Vec::new();
    for message in messages() {
        let who = match message["role"].as_str() {
            Some("user") => Who::User,
            Some("assistant") => Who::Model,
            Some("tool") => {
                let calls = messages().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
                let answered = calls.filter(|call| call["id"] == message["tool_call_id"]);
                said.extend(answered.map(|call| (Who::Answered, flat(&call["function"]["arguments"]))));
                Who::Result
            }
            _ => continue,
        };
        said.push((who, flat(&message["content"])));
    }
    said
}

/// The events of a streamed response, as the API numbers and nests them.
fn response_events(step: &Value, call: &str) -> Vec<Value> {
    let item = match step["tool"].as_str() {
        Some(tool) => {
            let mut item = json!({"type": "function_call", "id": format!("fc_{call}"), "call_id": call, "name": tool,
                "arguments": step["input"].to_string(), "status": "completed"});
            if let Some(namespace) = step.get("namespace") {
                item["namespace"] = namespace.clone();
            }
            item
        }
        None => json!({"type": "message", "id": format!("msg_{call}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": step["text"], "annotations": []}]}),
    };
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110});
    let response = |status: &str, output: Value, usage: Value| {
        json!({"id": format!("resp_{call}"), "object": "response", "created_at": 1_760_000_000, "status": status, "model": "scripted",
            "output": output, "usage": usage})
    };
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", json!([]), Value::Null)}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
    ];
    if let Some(text) = step["text"].as_str().filter(|_| step["tool"].is_null()) {
        events.push(
            json!({"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text}),
        );
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": response("completed", json!([item]), usage)}));
    events
}

fn chat_events(step: &Value, call: &str) -> Vec<Value> {
    let chunk = |delta: Value, why: Value| {
        json!({"id": format!("chatcmpl-{call}"), "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": why}]})
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let together = step["tools"].as_array().map_or(std::slice::from_ref(step), Vec::as_slice);
    let calls = together.iter().filter_map(|step| Some((step["tool"].as_str()?, &step["input"]))).enumerate();
    let calls: Vec<_> = calls
        .map(|(n, (tool, input))| {
            let function = json!({"name": tool, "arguments": input.to_string()});
            json!({"index": n, "id": format!("{call}_{n}"), "type": "function", "function": function})
        })
        .collect();
    let why = if calls.is_empty() {
        events.push(chunk(json!({"content": step["text"]}), Value::Null));
        "stop"
    } else {
        events.push(chunk(json!({ "tool_calls": calls }), Value::Null));
        "tool_calls"
    };
    events.push(chunk(json!({}), why.into()));
    let mut last = chunk(json!({}), Value::Null);
    last["choices"] = json!([]);
    last["usage"] = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    events.push(last);
    events
}
