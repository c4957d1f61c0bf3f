//! What the transcript of a session says, where that decides how the session is continued.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::agent::stream::lines::BoundedLines;

#[derive(Deserialize)]
struct Deferral {
    attachment: Option<Attachment>,
}

#[derive(Deserialize)]
struct Attachment {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(rename = "toolUseID")]
    id: Option<String>,
}

#[derive(Deserialize)]
struct InFolder {
    #[serde(default, rename = "type")]
    kind: String,
    cwd: Option<PathBuf>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    uuid: Option<String>,
}

/// Whether a session has this message and no entry of the agent after it. If the message is sent to such a session once more, the
/// agent program adds it a second time. Returns `false` if the transcript cannot be read.
pub fn is_unanswered(transcript: impl Read, message_id: &str) -> bool {
    let mut lines = BoundedLines::new(transcript);
    let mut has_it = false;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return has_it,
            Err(_) => return false,
        };
        // Parses only the lines that may matter.
        if !(has_it && line.text().contains("assistant") || line.text().contains(message_id)) {
            continue;
        }
        match serde_json::from_str::<Entry>(line.text()) {
            Ok(entry) if entry.kind == "user" => has_it |= entry.uuid.as_deref() == Some(message_id),
            Ok(entry) if entry.kind == "assistant" && has_it => return false,
            Ok(_) => {}
            // A cut line may be the agent's.
            Err(_) => return false,
        }
    }
}

/// The id of the tool call with which a session waits: a hook deferred it, and it has no result. `None` also if the transcript cannot be
/// read.
pub fn suspended_call(transcript: impl Read) -> Option<String> {
    let mut lines = BoundedLines::new(transcript);
    let mut suspended = None;
    while let Ok(Some(line)) = lines.next_line() {
        let text = line.text();
        if text.contains("\"hook_deferred_tool\"") {
            if let Ok(Deferral { attachment: Some(Attachment { kind, id: Some(id) }) }) = serde_json::from_str(text)
                && kind == "hook_deferred_tool"
            {
                suspended = Some(id);
            }
        } else if text.contains("\"tool_result\"")
            && suspended.as_ref().is_some_and(|id| text.contains(&format!("\"tool_use_id\":\"{id}\"")))
        {
            suspended = None;
        }
    }
    suspended
}

/// The folder of the session when it makes this tool call: that of the newest entry, once every call before this one has its result. `None`
/// if that is not known yet, or if the transcript cannot be read.
pub fn folder_of_call(transcript: impl Read, call: &str) -> Option<PathBuf> {
    let mut lines = BoundedLines::new(transcript);
    let (mut open, mut folder) = (Vec::new(), None);
    while let Ok(Some(line)) = lines.next_line() {
        let Ok(entry) = serde_json::from_str::<InFolder>(line.text()) else { continue };
        folder = entry.cwd.or(folder);
        let content = entry.message.map(|message| message.content).unwrap_or_default();
        let is_prompt = entry.kind == "user" && !content.as_array().is_some_and(|blocks| blocks.iter().any(|b| b["type"] == "tool_result"));
        if is_prompt {
            // Calls of an earlier turn that was cut have no result, and never will.
            open.retain(|known| known == call);
        }
        for block in content.as_array().into_iter().flatten() {
            match (block["type"].as_str(), block["id"].as_str(), block["tool_use_id"].as_str()) {
                (Some("tool_use"), Some(id), _) => open.push(id.to_owned()),
                (Some("tool_result"), _, Some(id)) => open.retain(|known| known != id),
                _ => {}
            }
        }
    }
    folder.filter(|_| open.first().is_some_and(|first| first == call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_call_is_known_once_every_call_before_it_has_its_result() {
        let calls = r#"{"type":"assistant","cwd":"/a","message":{"content":[{"type":"tool_use","id":"cut"}]}}
{"type":"user","cwd":"/a","message":{"content":"go on"}}
{"type":"assistant","cwd":"/a","message":{"content":[{"type":"tool_use","id":"one"}]}}
{"type":"assistant","cwd":"/a","message":{"content":[{"type":"tool_use","id":"two"}]}}
"#;
        let result = r#"{"type":"user","cwd":"/a/b","message":{"content":[{"type":"tool_result","tool_use_id":"one"}]}}
"#;
        let of = |text: &str, call| folder_of_call(text.as_bytes(), call);
        assert_eq!(of(calls, "one"), Some("/a".into()));
        assert_eq!(of(calls, "two"), None, "the first one may change the folder");
        assert_eq!(of(&[calls, result].concat(), "two"), Some("/a/b".into()));
        assert_eq!(of(&[calls, result].concat(), "three"), None);
    }

    #[test]
    fn a_message_is_unanswered_until_the_agent_says_something_behind_it() {
        let before = "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"assistant\",\"uuid\":\"b\"}\n";
        let message = "{\"type\":\"user\",\"uuid\":\"m\",\"message\":{\"content\":\"an assistant\"}}\n";
        let queued = "{\"type\":\"queue-operation\",\"content\":\"m\"}\n";
        let reply = "{\"type\":\"assistant\",\"uuid\":\"r\"}\n";
        let of = |lines: &[&str]| is_unanswered(lines.concat().as_bytes(), "m");
        assert!(of(&[before, queued, message, "{\"type\":\"attachment\",\"uuid\":\"x\"}\n"]));
        assert!(!of(&[before, message, reply]));
        assert!(!of(&[before, queued]), "the session does not have the message");
        assert!(!of(&[before, message, "{\"type\":\"assistant\",\"uu"]), "torn");
    }
}
