//! The scripts that drive the pretended model: finding them in a request, and cutting them into turns.
//!
//! A script travels in the prompt as `@@[{"tool":"Bash","input":{...}},{"text":"done"}]`, so the server
//! needs no memory: resumes, forks, parallel sessions and subagents just work. The turn to play is the number of
//! assistant messages that follow the message which carries the script.
//! Prompts that askbox writes itself carry no script; for those a test registers one with `Api::on`.

use serde_json::Value;

/// One reply of the model: what goes wrong first, then what is said.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// `status` and `cut` steps, each spread out to one entry per failing attempt.
    pub faults: Vec<Value>,
    /// The step that is finally answered with; none means the script ended with its faults.
    pub reply: Option<Value>,
    /// Milliseconds to wait before the first byte.
    pub delay_ms: u64,
}

/// The script in force for a request, and the place it has reached.
#[derive(Clone, Debug)]
pub struct Position {
    pub steps: Vec<Value>,
    pub turn: usize,
    /// Index of the message that carries the script: tells two sends of the same prompt apart.
    pub message: usize,
}

/// Looks for the newest message that carries a script or a registered marker.
pub fn locate(messages: &[Value], registered: &[(String, Vec<Value>)]) -> Option<Position> {
    for (message, value) in messages.iter().enumerate().rev() {
        // Tool results are not searched: `cat checkpoint.json` must not start the script over.
        let text = authored_text(value);
        if text.is_empty() {
            continue;
        }
        // A marker beats an inline script: an answer quoted in our own template may well contain `@@[`.
        let by_marker = registered.iter().rev().find(|(marker, _)| text.contains(marker.as_str())).map(|(_, steps)| steps.clone());
        if let Some(steps) = by_marker.or_else(|| inline(&text)) {
            let turn = messages[message + 1..].iter().filter(|later| later["role"] == "assistant").count();
            return Some(Position { steps, turn, message });
        }
    }
    None
}

/// Cuts a script into turns: fault and delay steps join the reply that follows them.
pub fn turns(steps: &[Value]) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut open = Turn::default();
    for step in steps {
        open.delay_ms += step["delay_ms"].as_u64().unwrap_or(0);
        if step.get("status").is_some() || step.get("cut").is_some() {
            let times = step["times"].as_u64().unwrap_or(1);
            for _ in 0..times {
                open.faults.push(step.clone());
            }
        } else if is_reply(step) {
            open.reply = Some(step.clone());
            turns.push(std::mem::take(&mut open));
        }
    }
    if !open.faults.is_empty() || open.delay_ms > 0 {
        turns.push(open);
    }
    turns
}

fn is_reply(step: &Value) -> bool {
    ["text", "slow_text", "tool", "tools", "stall"].iter().any(|key| step.get(key).is_some())
}

/// Text that a user or the CLI wrote: no tool results, nothing from the model.
pub fn authored_text(message: &Value) -> String {
    if message["role"] == "assistant" {
        return String::new();
    }
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The last script in a text. A script inside another one (a subagent's prompt) belongs to the outer one.
fn inline(text: &str) -> Option<Vec<Value>> {
    let mut found = None;
    let mut rest = text;
    while let Some(at) = rest.find("@@[") {
        let body = &rest[at + 2..];
        match parse(body) {
            Some((steps, used)) => {
                found = Some(steps);
                rest = &body[used..];
            }
            None => rest = body,
        }
    }
    found
}

/// Reads one array of objects from the start of `body`: plain, or as the inside of a JSON string.
fn parse(body: &str) -> Option<(Vec<Value>, usize)> {
    if let Some(hit) = array(body) {
        return Some(hit);
    }
    // A prompt may quote a document that holds the script, which escapes it once.
    let end = unescaped_quote(body)?;
    let plain: String = serde_json::from_str(&format!("\"{}\"", &body[..end])).ok()?;
    array(&plain).map(|(steps, _)| (steps, end))
}

fn array(body: &str) -> Option<(Vec<Value>, usize)> {
    let mut stream = serde_json::Deserializer::from_str(body).into_iter::<Vec<Value>>();
    let steps = stream.next()?.ok()?;
    let objects = !steps.is_empty() && steps.iter().all(Value::is_object);
    objects.then(|| (steps, stream.byte_offset()))
}

fn unescaped_quote(body: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}
