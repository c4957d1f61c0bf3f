//! Signs that a turn failed although the agent says `end_turn`. Each was measured on the agent that it names.

use serde_json::{Map, Value};

/// The sign that the reply to a prompt has.
pub(super) fn in_reply(result: &Value) -> Option<&'static str> {
    // codex: after an error of the API, `usage` is there and null.
    if result.get("usage").is_some_and(Value::is_null) {
        return Some("the agent reports no usage, as it does after an error of the API");
    }
    // gemini: a turn that the API cut has no tokens.
    let tokens = &result["_meta"]["quota"]["token_count"];
    let counts: Vec<u64> = tokens.as_object().map(|all| all.values().filter_map(Value::as_u64).collect()).unwrap_or_default();
    if !counts.is_empty() && counts.iter().all(|count| *count == 0) {
        return Some("the agent reports no tokens, as it does after an error of the API");
    }
    None
}

/// The sign that the `_meta` of a `session_info_update` has.
pub(super) fn in_session_info(meta: &Map<String, Value>) -> Option<&'static str> {
    // codex: the thread is broken until the next turn.
    let status = &meta.get("codex")?["threadStatus"];
    (status == "systemError" || status["type"] == "systemError").then_some("the agent reports a system error of its thread")
}
