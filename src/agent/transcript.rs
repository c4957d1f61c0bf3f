//! What a session's transcript says, where that decides how the session is gone on with.

use std::io::Read;

use serde::Deserialize;

use crate::agent::stream::lines::BoundedLines;

#[derive(Deserialize)]
struct Entry {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    uuid: Option<String>,
}

/// Whether a session has this message, and nothing that the agent said or did after it. To such a session the agent's CLI gives the
/// message a second time, below the first. Where the transcript cannot be read, it is not so.
pub fn is_unanswered(transcript: impl Read, message_id: &str) -> bool {
    let mut lines = BoundedLines::new(transcript);
    let mut has_it = false;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return has_it,
            Err(_) => return false,
        };
        // Most lines are neither.
        if !(has_it && line.text().contains("assistant") || line.text().contains(message_id)) {
            continue;
        }
        match serde_json::from_str::<Entry>(line.text()) {
            Ok(entry) if entry.kind == "user" => has_it |= entry.uuid.as_deref() == Some(message_id),
            Ok(entry) if entry.kind == "assistant" && has_it => return false,
            Ok(_) => {}
            // Cut short: who knows whose it was.
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_unanswered_until_the_agent_says_something_behind_it() {
        let before = "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"assistant\",\"uuid\":\"b\"}\n";
        let message = "{\"type\":\"user\",\"uuid\":\"m\",\"message\":{\"content\":\"an assistant\"}}\n";
        let queued = "{\"type\":\"queue-operation\",\"content\":\"m\"}\n";
        let reply = "{\"type\":\"assistant\",\"uuid\":\"r\"}\n";
        let of = |lines: &[&str]| is_unanswered(lines.concat().as_bytes(), "m");
        assert!(of(&[before, queued, message, "{\"type\":\"attachment\",\"uuid\":\"x\"}\n"]));
        assert!(!of(&[before, message, reply]));
        assert!(!of(&[before, queued]), "it does not have it");
        assert!(!of(&[before, message, "{\"type\":\"assistant\",\"uu"]), "torn");
    }
}
