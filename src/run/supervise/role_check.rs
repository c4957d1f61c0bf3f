//! Checks whether the agent program knows the role (the agent definition) that the run asks for.
//!
//! `claude --agent NAME` with an unknown name runs without that role's rules, with all tools, and does not say so. So the supervisor asks for
//! the known names before it sends the message, that is, before a model is paid for. Only the agent program knows all of them: built-in
//! ones, those of plugins, and those of its own arguments.

use serde_json::Value;

use crate::agent::claude;
use crate::text;

/// The id of the control request, which its reply repeats.
pub const QUESTION: &str = "askbox-role";
/// How many known names the refusal lists.
const NAMES: usize = 20;

/// The control request that asks for the known names, as a line for the agent's standard input.
#[must_use]
pub fn question() -> String {
    claude::initialize(QUESTION)
}

/// The refusal, if the reply lists names and `role` is none of them.
#[must_use]
pub fn unknown(role: &str, answer: &Value) -> Option<String> {
    let names: Vec<&str> = answer["agents"].as_array()?.iter().filter_map(|a| a["name"].as_str()).collect();
    // An agent of a plugin may be named without the plugin.
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
