//! A Messages API on loopback whose model is a script: no key, no network. It keeps nothing in memory: the messages of a request say how
//! far the script has come.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::demo::agent::{self, Step};
use askbox_mailbox::{IoContext, Result, thread};

/// The largest request that is read, in bytes.
const LARGEST: usize = 16 << 20;

/// Starts the API, for as long as this process lives, and returns its address. The model thinks for `pace` before each reply.
pub(super) fn start(pace: Duration) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").io("listen on", "loopback")?;
    let address = listener.local_addr().io("listen on", "loopback")?;
    thread::start(move || {
        for stream in listener.incoming().flatten() {
            // An agent that goes away needs no reply.
            let _ = thread::start(move || answer(&stream, pace));
        }
    })?;
    Ok(format!("http://{address}"))
}

/// Answers one request and closes the connection.
fn answer(stream: &TcpStream, pace: Duration) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 && line != "\r\n" {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; LARGEST.min(length)];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body)?;
    std::thread::sleep(pace);
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for event in events(&request) {
        write!(stream, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())?;
    }
    Ok(())
}

/// The replies of a script: the words up to a command, and the command. The last one has words alone.
fn replies(steps: &'static [Step]) -> Vec<Vec<Value>> {
    let mut replies = vec![Vec::new()];
    for step in steps {
        let reply = replies.last_mut();
        match step {
            Step::Say(text) => reply.into_iter().for_each(|reply| reply.push(json!({ "type": "text", "text": text }))),
            Step::Bash(command) => {
                let call = json!({ "type": "tool_use", "id": format!("toolu_{}", Uuid::new_v4().simple()), "name": "Bash", "input": { "command": command } });
                reply.into_iter().for_each(|reply| reply.push(call.clone()));
                replies.push(Vec::new());
            }
        }
    }
    replies
}

fn events(request: &Value) -> Vec<Value> {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let is_prompt = |message: &Value| message["role"] == "user" && blocks(message).iter().any(|block| block["type"] == "text");
    let prompts: Vec<usize> = (0..messages.len()).filter(|n| is_prompt(&messages[*n])).collect();
    let last = prompts.last().copied().unwrap_or(0);
    let goes_on =
        prompts.len() > 1 || messages.get(last).is_some_and(|message| message.to_string().contains("Resume workflow from checkpoint"));
    let said = messages.iter().skip(last).filter(|message| message["role"] == "assistant").count();
    let newest_result = messages.last().map(blocks).and_then(|blocks| Some(blocks.last()?["content"].as_str()?.to_owned()));
    let mut content = replies(agent::script(goes_on)).into_iter().nth(said).unwrap_or_default();
    if content.is_empty() {
        // At its end, the script repeats what its last command printed.
        content.push(json!({ "type": "text", "text": newest_result.unwrap_or_else(|| "Done.".into()) }));
    }
    let reason = if content.iter().any(|block| block["type"] == "tool_use") { "tool_use" } else { "end_turn" };
    let message = json!({ "id": format!("msg_{}", Uuid::new_v4().simple()), "type": "message", "role": "assistant", "model": "a script",
        "content": [], "stop_reason": null, "usage": { "input_tokens": 0, "output_tokens": 0 } });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in content.iter().enumerate() {
        let (mut begun, delta) = (
            block.clone(),
            match block["type"] == "text" {
                true => json!({ "type": "text_delta", "text": block["text"] }),
                false => json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
            },
        );
        let key = if block["type"] == "text" { "text" } else { "input" };
        begun[key] = if key == "text" { "".into() } else { json!({}) };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 0 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}
