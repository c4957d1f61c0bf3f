//! The end of a conversation of Codex, from the file that its daemon writes of each session (measured with 0.171), and how far words from
//! outside have come in it. What the model thinks, and what Codex tells it, is never shown.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::conversation::{
    Call, Conversation, LARGEST_LOOK, LONGEST, LONGEST_ABOUT, LONGEST_MESSAGE, LONGEST_PART, MOST, MOST_PASSED, Outcome, Turn, What,
};
use crate::conversation::{bounded, of_change, spend};
use askbox_mailbox::disk::{LinesFromEnd, Part};
use askbox_mailbox::prompts::Reached;
use askbox_mailbox::{Time, text};

/// A line of the file, as far as askbox reads it.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    timestamp: Value,
    #[serde(rename = "type")]
    kind: String,
    payload: Value,
}

/// The lines from the end that are not too long. `None` stands for more, after this many bytes.
fn lines(file: impl Read + Seek, mut left: usize) -> io::Result<impl Iterator<Item = io::Result<Option<Line>>>> {
    let mut lines = LinesFromEnd::new(file)?.bounded(LONGEST);
    Ok(std::iter::from_fn(move || {
        loop {
            let part = match lines.next_part() {
                Ok(part) => part?,
                Err(e) => return Some(Err(e)),
            };
            let (Part::Line(bytes) | Part::Inner(bytes) | Part::Begin(bytes)) = &part;
            if !spend(&mut left, bytes.len()) {
                return Some(Ok(None));
            }
            if let Part::Line(line) = &part
                && let Ok(line) = serde_json::from_slice(line)
            {
                return Some(Ok(Some(line)));
            }
        }
    }))
}

/// Reads the end of a conversation.
///
/// # Errors
/// The error of the file.
pub fn read(file: impl Read + Seek) -> io::Result<Conversation> {
    let (mut said, mut reader) = (Conversation::default(), Reader::default());
    for line in lines(file, LARGEST_LOOK)? {
        let Some(line) = line? else {
            said.is_cut = true;
            break;
        };
        if said.turns.len() >= MOST {
            said.is_cut = true;
            break;
        }
        if line.kind == "session_meta" {
            let git = line.payload["git"]["branch"].as_str();
            (said.branch, said.cwd) = (git.map(|branch| text::excerpt(branch, 80)), line.payload["cwd"].as_str().map(PathBuf::from));
        }
        let at = line.timestamp.as_str().and_then(|at| at.parse::<Time>().ok());
        said.turns.extend(reader.take(&line).map(|what| Turn { at, what }));
    }
    said.turns.reverse();
    Ok(said)
}

/// What was read behind a line.
#[derive(Default)]
struct Reader {
    /// The results of calls, by their ids.
    results: HashMap<String, Outcome>,
    /// The ids of the items that are shown. The model's call of the same id is not shown again.
    items: HashSet<String>,
}

impl Reader {
    fn take(&mut self, line: &Line) -> Option<What> {
        let of = &line.payload;
        match (line.kind.as_str(), of["type"].as_str()?) {
            ("event_msg", "item_completed") => self.item(&of["item"]),
            ("event_msg", "turn_aborted") => Some(What::Event("interrupted".into())),
            ("event_msg", "context_compacted") | ("compacted", _) => Some(What::Event("the conversation was compacted".into())),
            ("response_item", "function_call_output" | "custom_tool_call_output") => {
                let words = words(&of["output"]);
                let is_error = words.contains("\naborted by user");
                let outcome = Outcome { text: bounded(&words, LONGEST_PART), is_error };
                self.results.insert(of["call_id"].as_str()?.to_owned(), outcome);
                None
            }
            ("response_item", "function_call" | "custom_tool_call") => {
                let id = of["call_id"].as_str().filter(|id| !self.items.contains(*id))?;
                let input = of["arguments"].as_str().or(of["input"].as_str()).unwrap_or_default();
                let input: Value = serde_json::from_str(input).unwrap_or_else(|_| input.into());
                let command = input["cmd"].as_str().or(input.as_str()).map_or_else(|| input.to_string(), str::to_owned);
                Some(call(id, of["name"].as_str()?, &command, Vec::new(), self.results.remove(id)))
            }
            _ => None,
        }
    }

    fn item(&mut self, item: &Value) -> Option<What> {
        let id = item["id"].as_str()?;
        let words = words(&item["content"]);
        match item["type"].as_str()? {
            "UserMessage" => Some(What::Person(bounded(&words, LONGEST_MESSAGE))),
            "AgentMessage" => Some(What::Agent(bounded(&words, LONGEST_MESSAGE))).filter(|_| !text::is_blank(&words)),
            "CommandExecution" => {
                self.items.insert(id.to_owned());
                let output = item["aggregated_output"].as_str().unwrap_or_default();
                let outcome = Outcome { text: bounded(output, LONGEST_PART), is_error: item["status"] != "completed" };
                let command = item["command"].as_array().and_then(|words| words.last()?.as_str()).unwrap_or_default();
                Some(call(id, "Command", command, Vec::new(), Some(outcome)))
            }
            "FileChange" => {
                self.items.insert(id.to_owned());
                let changes = item["changes"].as_object()?;
                let about = changes.keys().cloned().collect::<Vec<_>>().join(", ");
                let outcome = Outcome { text: bounded(item["stderr"].as_str()?, LONGEST_PART), is_error: item["status"] != "completed" };
                Some(call(id, "Change", &about, of_change(changes.values().flat_map(change)), Some(outcome)))
            }
            _ => None,
        }
    }
}

/// The lines of the change of one file.
fn change(of: &Value) -> Vec<String> {
    let signed = |sign: &str| of["content"].as_str().into_iter().flat_map(str::lines).map(|line| format!("{sign}{line}")).collect();
    match of["type"].as_str() {
        Some("add") => signed("+"),
        Some("delete") => signed("-"),
        _ => of["unified_diff"].as_str().into_iter().flat_map(str::lines).map(str::to_owned).collect(),
    }
}

fn call(id: &str, name: &str, command: &str, change: Vec<String>, result: Option<Outcome>) -> What {
    What::Call(Call {
        id: text::excerpt(id, 80),
        name: text::excerpt(name, 80),
        about: text::excerpt(command, LONGEST_ABOUT),
        input: if change.is_empty() { bounded(command, LONGEST_PART) } else { String::new() },
        change,
        result,
    })
}

/// The texts of a content.
fn words(content: &Value) -> String {
    match content {
        Value::String(words) => words.clone(),
        content => {
            let all = content.as_array().into_iter().flatten();
            all.map(|part| part["text"].as_str().unwrap_or("[picture]")).collect::<Vec<_>>().join("\n")
        }
    }
}

/// How far the words with this id of ours have come.
///
/// # Errors
/// The error of the file.
pub fn reached(file: impl Read + Seek, id: &str) -> io::Result<Reached> {
    let mut ended = HashSet::new();
    for line in lines(file, MOST_PASSED)?.map_while(io::Result::transpose) {
        let Line { payload: of, .. } = line?;
        match of["type"].as_str() {
            Some("task_complete" | "turn_aborted") => drop(ended.insert(of["turn_id"].clone())),
            Some("item_completed") if of["item"]["client_id"] == id => {
                return Ok(if ended.contains(&of["turn_id"]) { Reached::Answered } else { Reached::TakenUp });
            }
            _ => {}
        }
    }
    Ok(Reached::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    use serde_json::json;

    fn line(kind: &str, payload: &Value) -> String {
        json!({"timestamp": "2026-11-30T09:29:22.926Z", "type": kind, "payload": payload}).to_string() + "\n"
    }

    fn item(turn: &str, item: &Value) -> String {
        line("event_msg", &json!({"type": "item_completed", "turn_id": turn, "item": item}))
    }

    fn hour() -> String {
        let words = |text: &str| json!([{"type": "text", "text": text}]);
        let call = |id: &str, name: &str, arguments: &str| {
            line("response_item", &json!({"type": "function_call", "name": name, "arguments": arguments, "call_id": id}))
        };
        [
            line("session_meta", &json!({"cwd": "/work/shop", "git": {"branch": "main"}, "base_instructions": {"text": "You are"}})),
            line("response_item", &json!({"type": "message", "role": "user", "content": words("<environment_context>secret")})),
            item("u", &json!({"type": "UserMessage", "id": "1", "client_id": "ours", "content": words("Fix it.\u{202e}")})),
            line("response_item", &json!({"type": "reasoning", "summary": words("thinks")})),
            item("u", &json!({"type": "Reasoning", "id": "r", "content": words("thinks")})),
            call("c1", "exec_command", r#"{"cmd":"cargo test"}"#),
            item(
                "u",
                &json!({"type": "CommandExecution", "id": "c1", "command": ["/bin/bash", "-lc", "cargo test"], "status": "failed",
                    "aggregated_output": "1 failed"}),
            ),
            line("response_item", &json!({"type": "function_call_output", "call_id": "c1", "output": "Chunk ID: 1"})),
            item(
                "u",
                &json!({"type": "FileChange", "id": "c2", "status": "completed", "stderr": "",
                    "changes": {"/work/new.txt": {"type": "add", "content": "hello\n"}}}),
            ),
            item("u", &json!({"type": "AgentMessage", "id": "2", "content": words("Fixed.")})),
            call("c3", "request_user_input", r#"{"questions":[]}"#),
        ]
        .concat()
    }

    #[test]
    fn the_file_of_codex_is_shown_without_what_the_model_thinks() {
        let said = read(Cursor::new(hour())).unwrap();
        assert_eq!((said.branch.as_deref(), said.cwd, said.is_cut), (Some("main"), Some("/work/shop".into()), false));
        let shown: Vec<_> = said.turns.iter().map(|turn| &turn.what).collect();
        let [What::Person(words), What::Call(ran), What::Call(changed), What::Agent(told), What::Call(asks)] = shown[..] else {
            panic!("{shown:?}")
        };
        assert_eq!((words.as_str(), told.as_str()), ("Fix it.", "Fixed."));
        assert_eq!(
            (ran.about.as_str(), ran.result.as_ref().map(|end| (end.text.as_str(), end.is_error))),
            ("cargo test", Some(("1 failed", true)))
        );
        assert_eq!((changed.about.as_str(), &changed.change[..]), ("/work/new.txt", &["+hello".to_owned()][..]));
        assert!(asks.name == "request_user_input" && asks.result.is_none());
    }

    #[test]
    fn the_file_of_codex_tells_how_far_words_have_come() {
        let ended = |how: &str| hour() + &line("event_msg", &json!({"type": how, "turn_id": "u"}));
        assert_eq!(reached(Cursor::new(hour()), "others").unwrap(), Reached::Nothing);
        assert_eq!(reached(Cursor::new(hour()), "ours").unwrap(), Reached::TakenUp);
        assert_eq!(reached(Cursor::new(ended("task_complete")), "ours").unwrap(), Reached::Answered);
        assert_eq!(reached(Cursor::new(ended("turn_aborted")), "ours").unwrap(), Reached::Answered);
    }
}
