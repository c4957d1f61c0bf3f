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

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// Words for the model.
    Prompt { uuid: String, content: Vec<Value> },
    /// The model's reply: its blocks, as the API gave them.
    Reply { uuid: String, content: Vec<Value> },
    /// The result of a tool call: a block of the API.
    Result { uuid: String, call: String, block: Value },
}

impl Message {
    pub fn uuid(&self) -> &str {
        match self {
            Self::Prompt { uuid, .. } | Self::Reply { uuid, .. } | Self::Result { uuid, .. } => uuid,
        }
    }
}

/// Everything that a transcript says.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub messages: Vec<Message>,
    /// The model of the newest reply.
    pub model: Option<String>,
    /// The calls that were begun and must not be repeated unseen.
    begun: HashSet<String>,
    /// The call that waits for a person. It may be a subagent's.
    pub waiting: Option<String>,
}

/// The kinds of the marks between messages. `relaunch` reads the second one as Claude Code writes it.
pub(crate) const BEGUN: &str = "tool_begun";
pub(crate) const DEFERRED: &str = "hook_deferred_tool";
pub(crate) const REWOUND: &str = "rewound";

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
                self.messages.push(Message::Reply { uuid: text(&entry["uuid"]), content });
            }
            (_, Some(BEGUN)) => drop(self.begun.insert(text(&mark["toolUseID"]))),
            (_, Some(DEFERRED)) => self.waiting = Some(text(&mark["toolUseID"])),
            (_, Some(REWOUND)) => {
                let end = self.messages.iter().position(|message| mark["to"] == message.uuid());
                self.messages.truncate(end.map_or(self.messages.len(), |at| at + 1));
            }
            _ => {}
        }
    }

    fn take_message(&mut self, entry: &Value, uuid: String) {
        let content = blocks(&entry["message"]["content"]);
        for block in content.iter().filter(|block| block["type"] == "tool_result") {
            let call = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
            self.waiting.take_if(|waiting| *waiting == call);
            self.messages.push(Message::Result { uuid: uuid.clone(), call, block: block.clone() });
        }
        let words: Vec<Value> = content.into_iter().filter(|block| block["type"] != "tool_result").collect();
        if !words.is_empty() {
            self.messages.push(Message::Prompt { uuid, content: words });
        }
    }

    /// The calls of the newest reply that have no result, in their order.
    pub fn open_calls(&self) -> Vec<Call> {
        let newest = self.messages.iter().rposition(|message| matches!(message, Message::Reply { .. }));
        let Some(newest) = newest else { return Vec::new() };
        let Message::Reply { content, .. } = &self.messages[newest] else { return Vec::new() };
        let answered = |id: &str| self.messages[newest..].iter().any(|m| matches!(m, Message::Result { call, .. } if call == id));
        content.iter().filter_map(call).filter(|call| !answered(&call.id)).collect()
    }

    /// True if the call was begun. Without a result, its outcome is unknown.
    pub fn has_begun(&self, call: &Call) -> bool {
        self.begun.contains(&call.id)
    }

    /// The messages of the user.
    pub fn prompts(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(|message| matches!(message, Message::Prompt { .. })).map(Message::uuid)
    }

    /// `None` if the transcript does not have this message. Otherwise, true if the model has replied to it.
    pub fn is_answered(&self, uuid: &str) -> Option<bool> {
        let at = self.messages.iter().position(|message| matches!(message, Message::Prompt { .. }) && message.uuid() == uuid)?;
        Some(self.messages[at..].iter().any(|message| matches!(message, Message::Reply { .. })))
    }

    /// The text of the newest reply.
    pub fn last_words(&self) -> String {
        let reply = self.messages.iter().rev().find_map(|message| match message {
            Message::Reply { content, .. } => Some(content),
            _ => None,
        });
        let texts: Vec<&str> = reply.into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    }

    /// How often the model was asked.
    pub fn rounds(&self) -> usize {
        self.messages.iter().filter(|message| matches!(message, Message::Reply { .. })).count()
    }

    /// The messages as the API takes them. The results of calls stand in front of the words that came after them.
    pub fn for_the_model(&self) -> Vec<Value> {
        let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
        for message in &self.messages {
            let (role, blocks) = match message {
                Message::Reply { content, .. } if content.is_empty() => continue,
                Message::Reply { content, .. } => ("assistant", content.clone()),
                Message::Prompt { content, .. } => ("user", content.clone()),
                Message::Result { block, .. } => ("user", vec![block.clone()]),
            };
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
