//! A client that writes and reads single lines, so that a test sees what goes over the wire.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::{LIMIT, Running, World};

/// The era of the protocol that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Era {
    /// It begins with `initialize`.
    Of2025,
    /// Each request says what the client can.
    Of2026,
}

pub const BOTH: [Era; 2] = [Era::Of2025, Era::Of2026];

pub struct Client {
    pub process: Running,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Replies that were read while the test waited for another one.
    early: VecDeque<Value>,
    era: Era,
    capabilities: Value,
    next: u64,
}

impl Client {
    /// A client that knows no tasks.
    #[track_caller]
    pub fn of(world: &World, era: Era) -> Self {
        Self::start(world.command("askbox").arg("mcp"), era, json!({}))
    }

    #[track_caller]
    pub fn start(command: &mut Command, era: Era, capabilities: Value) -> Self {
        let mut process = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let stdout = process.0.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _sent = sender.send(serde_json::from_str(&line).expect("standard output holds JSON only"));
            }
        });
        let stdin = process.0.stdin.take();
        let mut client = Self { process, stdin, lines, early: VecDeque::new(), era, capabilities, next: 0 };
        match era {
            Era::Of2025 => {
                let info = json!({"name": "raw", "version": "1"});
                let begin = json!({"protocolVersion": "2025-11-25", "capabilities": client.capabilities.clone(), "clientInfo": info});
                assert_eq!(client.request("initialize", begin)["result"]["serverInfo"]["name"], "askbox");
                client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            }
            Era::Of2026 => {
                let found = client.request("server/discover", json!({}));
                assert_eq!(found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "askbox", "{found}");
            }
        }
        client
    }

    #[track_caller]
    pub fn write(&mut self, message: &Value) {
        self.write_line(&message.to_string());
    }

    #[track_caller]
    pub fn write_line(&mut self, line: &str) {
        self.stdin.as_mut().expect("open").write_all(format!("{line}\n").as_bytes()).expect("the server reads");
    }

    /// Sends a request; its id.
    #[track_caller]
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.send_with(method, params, &json!({}))
    }

    /// Sends a request with these fields of `_meta`; its id.
    #[track_caller]
    pub fn send_with(&mut self, method: &str, mut params: Value, meta: &Value) -> u64 {
        self.next += 1;
        params["_meta"] = meta.clone();
        if self.era == Era::Of2026 {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "raw", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Waits for the reply to a request.
    #[track_caller]
    pub fn reply_to(&mut self, id: u64) -> Value {
        if let Some(at) = self.early.iter().position(|reply| reply["id"] == id) {
            return self.early.remove(at).expect("it");
        }
        loop {
            let line = self.lines.recv_timeout(LIMIT).expect("a reply");
            if line["id"] == id {
                return line;
            }
            self.early.push_back(line);
        }
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.reply_to(id)
    }

    /// Begins to call a tool; the id of the request.
    #[track_caller]
    pub fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The words of a tool. It must succeed.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin(tool, arguments);
        self.said(id)
    }

    /// The words of the called tool. It must succeed.
    #[track_caller]
    pub fn said(&mut self, id: u64) -> String {
        let reply = self.reply_to(id);
        assert_eq!(reply["result"]["isError"], false, "{reply}");
        words(&reply)
    }

    /// The words of a tool that refuses.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin(tool, arguments);
        let reply = self.reply_to(id);
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        words(&reply)
    }

    /// Closes the server's standard input, and waits for its end.
    #[track_caller]
    pub fn close(mut self) {
        self.stdin = None;
        assert!(self.process.wait().success());
    }
}

/// The one text of a result.
#[track_caller]
pub fn words(reply: &Value) -> String {
    let content = reply["result"]["content"].as_array().unwrap_or_else(|| panic!("no content: {reply}"));
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{reply}");
    assert_eq!(reply["result"].get("structuredContent"), None, "Claude Code would drop the text");
    content[0]["text"].as_str().expect("a text").to_owned()
}
