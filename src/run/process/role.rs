//! Whether the agent program knows the agent that it is to be.
//!
//! `claude --agent NAME` with a name that it does not know runs as nobody in particular, with all tools, and says so nowhere. So
//! it is asked before it is told anything, and before anything is paid for. Only it knows all of its agents: its built-in ones, a
//! plugin's, those of its own arguments.

use serde_json::Value;

use crate::agent::claude;
use crate::text;

/// Names the question in its answer.
pub const QUESTION: &str = "askbox-role";
/// So many names are told.
const NAMES: usize = 20;

/// The question.
#[must_use]
pub fn question() -> String {
    claude::initialize(QUESTION)
}

/// Why a role cannot be taken, by the answer; `None` where it can, or where the answer does not say.
#[must_use]
pub fn unknown(role: &str, answer: &Value) -> Option<String> {
    let names: Vec<&str> = answer["agents"].as_array()?.iter().filter_map(|a| a["name"].as_str()).collect();
    // A plugin's agent may be named without its plugin.
    if names.iter().any(|name| *name == role || name.strip_suffix(role).is_some_and(|plugin| plugin.ends_with(':'))) {
        return None;
    }
    let mut known: Vec<String> = names.iter().take(NAMES).map(|name| text::excerpt(name, 40)).collect();
    if names.len() > NAMES {
        known.push("…".into());
    }
    Some(format!("there is no agent `{}`; known here: {}", text::excerpt(role, 80), known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_known_by_its_whole_name_or_without_its_plugin() {
        let answer = serde_json::json!({"agents": [{"name": "plain"}, {"name": "kit:reviewer"}, {"name": 3}, "x"]});
        for known in ["plain", "reviewer", "kit:reviewer"] {
            assert_eq!(unknown(known, &answer), None);
        }
        for other in ["Plain", "lain", "viewer", "", "kit", "x"] {
            assert!(unknown(other, &answer).unwrap().ends_with("known here: plain, kit:reviewer"), "{other}");
        }
        for silent in ["null", "{}", r#"{"agents":{}}"#] {
            assert_eq!(unknown("plain", &serde_json::from_str(silent).unwrap()), None);
        }
    }
}
