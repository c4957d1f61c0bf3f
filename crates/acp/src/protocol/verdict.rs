//! How a turn ended. Only `end_turn` with words behind the last tool call and no sign of a failure counts as done: agents also end a turn
//! so when the API failed, or after a refused call.
//!
//! Signs that a turn failed although the agent says `end_turn`. Each was measured on the agent that it names.

use serde_json::{Map, Value};

use crate::protocol::replies;
use crate::protocol::turn::Turn;
use askbox_agent::events::Tokens;
use askbox_agent::stream::bounded::head;
use askbox_agent::stream::wire::Raw;
use askbox_agent::stream::{Interruption, Verdict};
use askbox_mailbox::Untrusted;

/// The verdict on a turn whose prompt has a result. A text that begins with `error_text` is an error of the API, unless that is empty.
pub(super) fn of_turn(turn: &Turn, reply: &Value, error_text: &str) -> Verdict {
    let text = turn.text();
    let unclear = |why: &str| Verdict::Unclear { why: why.into(), is_only_silent: false };
    match reply["stopReason"].as_str().unwrap_or_default() {
        "cancelled" if turn.was_cancelled => Verdict::Interrupted { during: Interruption::Streaming, is_error: false },
        // The agent ended its turn by itself before it read that the turn is cancelled.
        "end_turn" if turn.was_cancelled && text.is_empty() => Verdict::Interrupted { during: Interruption::Streaming, is_error: false },
        "refusal" => Verdict::Other { subtype: "refusal".into(), terminal_reason: None, message: text.into() },
        "max_turn_requests" => Verdict::MaxTurns,
        _ if turn.was_refused => unclear("a call was not permitted, and the turn ended"),
        "end_turn" => match turn.sign.or_else(|| in_reply(reply)) {
            Some(sign) => unclear(sign),
            None if text.is_empty() => Verdict::Unclear {
                why: "the turn ended without any words behind the last tool call".into(),
                // kimi and pi end a turn so after an error of the API, and report no tokens.
                is_only_silent: tokens(&reply["usage"]).output > 0,
            },
            None if !error_text.is_empty() && text.starts_with(error_text) => unclear("the turn ended with an error as its text"),
            None => Verdict::Completed { text: text.into() },
        },
        other => unclear(&format!("the turn ended with `{}`", head(other, 64))),
    }
}

/// The verdict on a prompt that was answered with an error.
pub(super) fn of_error(error: Raw<'_>) -> Verdict {
    let (code, message) = replies::error(error);
    let status = match code {
        replies::NOT_LOGGED_IN => Some(401),
        code => u16::try_from(code).ok().filter(|status| (400..600).contains(status)),
    };
    match status {
        Some(status) => Verdict::ApiError { status: Some(status), error_type: Untrusted::default(), message: message.into() },
        None => Verdict::Other { subtype: format!("error {code}").into(), terminal_reason: None, message: message.into() },
    }
}

/// The word for the verdict in the event.
pub(super) fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Completed { .. } => "completed",
        Verdict::Interrupted { .. } => "cancelled",
        Verdict::MaxTurns => "max_turns",
        Verdict::ApiError { .. } => "api_error",
        Verdict::Unclear { .. } => "unclear",
        _ => "error",
    }
}

/// The tokens that an agent reports.
pub(super) fn tokens(usage: &Value) -> Tokens {
    let count = |name: &str| usage[name].as_u64().unwrap_or(0);
    Tokens {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cache_read: count("cachedReadTokens"),
        cache_creation: count("cachedWriteTokens"),
    }
}

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
