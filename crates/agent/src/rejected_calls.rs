//! The tool calls of a session that an interrupt of its turn rejected.
//!
//! If a request for permission is refused with an interrupt, the agent program ends the turn. It then writes for every call of that
//! message without a result that the user rejected the call, although nobody was asked (measured on Claude Code 2.1.330).

use std::io::Read;

use serde_json::Value;

use crate::transcript::entries;

/// The beginning of the result of such a call.
const REJECTED: &str = "The user doesn't want to proceed with this tool use.";
/// The beginning of the text that ends the turn.
const INTERRUPTED: &str = "[Request interrupted by user";

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedCall {
    /// The id of the call.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
}

/// Returns the rejected calls of the last turn, in the order of the session. Empty if the transcript cannot be read.
pub fn of_last_turn(transcript: impl Read) -> Vec<RejectedCall> {
    let (mut made, mut rejected) = (Vec::new(), Vec::new());
    let is_of_the_turn =
        |block: &Value| block["type"] == "tool_result" || block["text"].as_str().is_some_and(|text| text.starts_with(INTERRUPTED));
    for entry in entries(transcript, |_| true) {
        // A turn begins.
        if entry.message["role"] == "user" && !entry.blocks().iter().any(is_of_the_turn) {
            (made, rejected) = (Vec::new(), Vec::new());
        }
        for block in entry.blocks() {
            let of_block = |name: &str| block[name].as_str().map(str::to_owned);
            match block["type"].as_str() {
                Some("tool_use") => made.extend(of_block("id").zip(of_block("name")).map(|(id, tool)| RejectedCall { id, tool })),
                Some("tool_result") if block["content"].as_str().is_some_and(|text| text.starts_with(REJECTED)) => {
                    rejected.extend(of_block("tool_use_id"));
                }
                _ => {}
            }
        }
    }
    made.retain(|call: &RejectedCall| rejected.contains(&call.id));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: &str = r#"{"type":"user","message":{"role":"user","content":"go"}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"Read"}]}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"Bash"}]}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"3","name":"AskUserQuestion"}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"text"}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"The user doesn't want to proceed with this tool use. STOP"}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"3","content":"The user doesn't want to proceed with this tool use. STOP"}]}}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}
{"type":"last-prompt"}
"#;

    #[test]
    fn only_calls_that_the_interrupt_rejected_are_listed() {
        let tools = |text: &str| of_last_turn(text.as_bytes()).into_iter().map(|call| (call.id, call.tool)).collect::<Vec<_>>();
        assert_eq!(tools(TURN), [("2".into(), "Bash".into()), ("3".into(), "AskUserQuestion".into())]);
        let prompt = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"the next prompt"}]}}"#;
        assert_eq!(tools(&[TURN, prompt].concat()), [], "a turn before the last one is over");
        assert_eq!(tools(""), []);
    }
}
