//! A transcript in memory: messages, tool calls and results, in their order.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Its id, which its result repeats.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The input.
    pub input: Map<String, Value>,
}

impl Call {
    /// A text of the input.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.input.get(key).and_then(Value::as_str)
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub uuid: String,
    /// Blocks, as the API takes and gives them.
    pub content: Vec<Value>,
    pub kind: Kind,
}

/// The meaning of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// Words of the user.
    Prompt,
    /// Words of this program.
    Remark,
    /// The model's reply, and why it stopped, in the API's word.
    Reply(String),
    /// The result of the call with this id.
    Result(String),
}

/// Everything that a transcript says.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub messages: Vec<Message>,
    /// The model reads the messages from this one on. Those in front are in its summary.
    pub from: usize,
    /// The model of the newest reply.
    pub model: Option<String>,
    /// The calls that were begun and must not be repeated unseen. Without a result, the outcome is unknown.
    pub begun: HashSet<String>,
    /// The call that waits for a person. It may be a subagent's.
    pub waiting: Option<String>,
}

/// The kinds of the marks between messages. `relaunch` reads the second one as Claude Code writes it.
pub(crate) const BEGUN: &str = "tool_begun";
pub(crate) const DEFERRED: &str = "hook_deferred_tool";
pub(crate) const REWOUND: &str = "rewound";
/// The field of an entry with words of this program, as in Claude Code's transcripts.
pub(crate) const REMARK: &str = "isMeta";
/// The field of a remark that stands for all messages in front of it, also as there.
pub(crate) const SUMMARY: &str = "isCompactSummary";

impl Message {
    pub fn is_reply(&self) -> bool {
        matches!(self.kind, Kind::Reply(_))
    }
}

impl History {
    /// Takes in one entry of the transcript.
    pub fn take(&mut self, entry: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mark = &entry["attachment"];
        match (entry["type"].as_str(), mark["type"].as_str()) {
            // The result of a subagent's call, which is repeated here for readers of this file.
            (Some("user"), _) if entry["isSidechain"] == true => self.waiting = None,
            (Some("user"), _) => self.take_message(entry, text(&entry["uuid"])),
            (Some("assistant"), _) => {
                self.model = entry["message"]["model"].as_str().map(str::to_owned).or(self.model.take());
                let content = blocks(&entry["message"]["content"]);
                let kind = Kind::Reply(text(&entry["message"]["stop_reason"]));
                self.messages.push(Message { uuid: text(&entry["uuid"]), content, kind });
            }
            (_, Some(BEGUN)) => drop(self.begun.insert(text(&mark["toolUseID"]))),
            (_, Some(DEFERRED)) => self.waiting = Some(text(&mark["toolUseID"])),
            (_, Some(REWOUND)) => {
                let end = self.messages.iter().position(|message| mark["to"] == *message.uuid);
                self.messages.truncate(end.map_or(self.messages.len(), |at| at + 1));
                self.from = if self.messages.len() > self.from { self.from } else { 0 };
            }
            _ => {}
        }
    }

    fn take_message(&mut self, entry: &Value, uuid: String) {
        self.from = if entry[SUMMARY] == true { self.messages.len() } else { self.from };
        let (results, words): (Vec<_>, Vec<_>) =
            blocks(&entry["message"]["content"]).into_iter().partition(|block| block["type"] == "tool_result");
        for block in results {
            let call = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
            self.waiting.take_if(|waiting| *waiting == call);
            self.messages.push(Message { uuid: uuid.clone(), content: vec![block], kind: Kind::Result(call) });
        }
        if !words.is_empty() {
            let kind = if entry[REMARK] == true { Kind::Remark } else { Kind::Prompt };
            self.messages.push(Message { uuid, content: words, kind });
        }
    }

    /// The calls of the newest reply that have no result, in their order.
    pub fn open_calls(&self) -> Vec<Call> {
        let Some(newest) = self.messages.iter().rposition(Message::is_reply) else { return Vec::new() };
        let (reply, later) = (&self.messages[newest], &self.messages[newest..]);
        let answered = |id: &str| later.iter().any(|message| matches!(&message.kind, Kind::Result(call) if call == id));
        reply.content.iter().filter_map(call).filter(|call| !answered(&call.id)).collect()
    }

    /// The messages of the user, and whether the model has replied to each.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, bool)> {
        let newest = self.messages.iter().rposition(Message::is_reply);
        let prompts = self.messages.iter().enumerate().filter(|(_, message)| message.kind == Kind::Prompt);
        prompts.map(move |(at, message)| (message.uuid.as_str(), newest.is_some_and(|newest| at < newest)))
    }

    /// The text of the newest reply.
    pub fn last_words(&self) -> String {
        let reply = self.messages.iter().rev().find(|message| message.is_reply());
        reply.map_or_else(String::new, |reply| words(&reply.content))
    }

    /// The messages as the API takes them. The results of calls stand in front of the words that came after them.
    pub fn for_the_model(&self) -> Vec<Value> {
        let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
        for message in self.messages[self.from..].iter().filter(|message| !message.content.is_empty()) {
            let (role, blocks) = (if message.is_reply() { "assistant" } else { "user" }, message.content.clone());
            match messages.last_mut() {
                Some((last, content)) if *last == role => content.extend(blocks),
                _ => messages.push((role, blocks)),
            }
        }
        for (_, content) in &mut messages {
            content.sort_by_key(|block| block["type"] != "tool_result");
        }
        // The content is moved, because `json!` would copy it.
        messages
            .into_iter()
            .map(|(role, content)| Map::from_iter([("role".into(), role.into()), ("content".into(), content.into())]).into())
            .collect()
    }
}

/// The texts of a message.
pub(crate) fn words(content: &[Value]) -> String {
    content.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Content as blocks: a plain string is one block of text.
pub(crate) fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn call(block: &Value) -> Option<Call> {
    let text = |key: &str| block[key].as_str().map(str::to_owned);
    if block["type"] != "tool_use" {
        return None;
    }
    Some(Call { id: text("id")?, name: text("name")?, input: block["input"].as_object().cloned().unwrap_or_default() })
}
