//! How a turn ended: the verdict on a `result` line.
//!
//! Neither the exit code nor `subtype` tells it: an API error says `success`, and an interrupt exits with 0. The verdict rests on
//! `terminal_reason`, `stop_reason` and `is_error`.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::events::Tokens;
use crate::agent::stream::bounded;
use crate::agent::stream::consumption::{self, Spent};
use crate::agent::stream::wire::{self, Raw};
use crate::untrusted::Untrusted;

/// How a turn ended, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    /// How it ended.
    pub verdict: Verdict,
    /// The stream's own `is_error`. It does not tell alone whether the turn failed: see [`Verdict`].
    pub is_error: bool,
    /// The session whose turn it was.
    pub session_id: Untrusted,
    /// The agent's final text, up to 64 KiB; empty if there is none.
    pub text: Untrusted,
    /// Why the agent's loop ended, in its word: `completed`, `api_error`, `max_turns` …
    pub terminal_reason: Option<Untrusted>,
    /// Why the model stopped, in the API's word: `end_turn`, `tool_use` …
    pub stop_reason: Option<Untrusted>,
    /// US dollars of this turn alone, subagents included; `None` if unknown.
    pub cost_usd: Option<f64>,
    /// Tokens of this turn alone, subagents included.
    pub tokens: Tokens,
    /// API round trips of this turn.
    pub turns: u64,
    /// Wall time of this turn in milliseconds, as the agent measured it.
    pub duration_ms: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The agent ended it.
    Completed {
        /// The agent's final text, up to 64 KiB.
        text: Untrusted,
    },
    /// A hook of askbox stopped it. The session keeps everything up to the last tool result.
    HookStopped,
    /// A tool call was deferred. Once it can be decided, the session is resumed without a message.
    Deferred {
        /// The tool.
        tool_name: Untrusted,
        /// The id of the call.
        tool_use_id: Untrusted,
        /// Its input; null if it is larger than 256 KiB.
        input: Value,
    },
    /// It was interrupted. `is_error` is false if the interrupting message began a turn of its own.
    Interrupted {
        /// What the interrupt hit.
        during: Interruption,
        /// The stream's `is_error`.
        is_error: bool,
    },
    /// The API refused the request, or could not be reached.
    ApiError {
        /// The HTTP status; `None` if there was no response.
        status: Option<u16>,
        /// The error type of the API (`overloaded_error`, `authentication_error`) or of the agent program (`connection_failed`).
        error_type: Untrusted,
        /// The message.
        message: Untrusted,
    },
    /// It reached the limit on turns.
    MaxTurns,
    /// It reached the limit on money.
    Budget,
    /// The prompt does not fit into the model's context; nothing was sent.
    TooLong,
    /// The session to resume does not exist.
    ResumeUnknown,
    /// Anything else.
    Other {
        /// `subtype` of the `result` line.
        subtype: Untrusted,
        /// Its `terminal_reason`, if it gave one.
        terminal_reason: Option<Untrusted>,
        /// Its first error; its text if it lists no error.
        message: Untrusted,
    },
}

/// What an interrupt hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// A request to the model.
    Streaming,
    /// A running tool.
    Tools,
}

/// Whether the API may accept the same request later, after it has refused it with this HTTP status.
#[must_use]
pub fn waiting_mends(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599)
}

/// Reads a `result` line, and moves `spent` on to its total.
pub(super) fn read(line: &str, spent: &mut Spent) -> serde_json::Result<TurnOutcome> {
    let wire: wire::ResultLine = wire::line(line)?;
    let is_error = wire::get(wire.is_error).unwrap_or(false);
    let stop_reason = bounded::some_name(wire.stop_reason)?;
    let mut terminal_reason = bounded::some_name(wire.terminal_reason)?;
    let text = wire::string(wire.result)?;
    let deferred = stop_reason.as_ref().is_some_and(|reason| reason == "tool_deferred");
    // A resumed session that defers again reports no terminal reason, and a wrong number of turns.
    let again = deferred && terminal_reason.is_none();
    if again {
        terminal_reason = Some("tool_deferred".into());
    }
    let verdict = verdict(&wire, is_error, terminal_reason.as_ref().map(Untrusted::raw), deferred, &text)?;
    let (cost_usd, tokens) = consumption::of_turn(&wire, spent);
    Ok(TurnOutcome {
        verdict,
        is_error,
        session_id: bounded::name(wire.session_id)?,
        text,
        terminal_reason,
        stop_reason,
        cost_usd,
        tokens,
        turns: if again { 0 } else { wire::count(wire.num_turns).unwrap_or(0) },
        duration_ms: wire::count(wire.duration_ms).unwrap_or(0),
    })
}

fn verdict(
    wire: &wire::ResultLine<'_>,
    is_error: bool,
    terminal_reason: Option<&str>,
    deferred: bool,
    text: &Untrusted,
) -> serde_json::Result<Verdict> {
    let subtype = wire::word(wire.subtype);
    Ok(match terminal_reason {
        Some("tool_deferred") => self::deferred(wire.deferred_tool_use)?,
        Some("completed") if !is_error => Verdict::Completed { text: text.clone() },
        Some("hook_stopped") if !is_error => Verdict::HookStopped,
        Some("aborted_streaming") => Verdict::Interrupted { during: Interruption::Streaming, is_error },
        Some("aborted_tools") => Verdict::Interrupted { during: Interruption::Tools, is_error },
        Some("api_error") => {
            let error_type = match bounded::name(wire.api_error_type)? {
                empty if empty.is_empty() => bounded::name(wire.api_error)?,
                error_type => error_type,
            };
            let status = wire::get(wire.api_error_status);
            Verdict::ApiError { status, error_type, message: text.clone() }
        }
        Some("max_turns") => Verdict::MaxTurns,
        Some("budget_exhausted") => Verdict::Budget,
        Some("blocking_limit") => Verdict::TooLong,
        None if deferred => self::deferred(wire.deferred_tool_use)?,
        None if subtype == "error_max_turns" => Verdict::MaxTurns,
        None if subtype == "error_max_budget_usd" => Verdict::Budget,
        None if subtype == "success" && !is_error => Verdict::Completed { text: text.clone() },
        _ => {
            let message = match first_error(wire.errors)? {
                Some(error) => error,
                None => text.clone(),
            };
            if message.raw().starts_with("No conversation found with session ID") {
                Verdict::ResumeUnknown
            } else {
                let terminal_reason = terminal_reason.map(Untrusted::from);
                Verdict::Other { subtype: bounded::head(subtype, 64).into(), terminal_reason, message }
            }
        }
    })
}

fn deferred(raw: Raw<'_>) -> serde_json::Result<Verdict> {
    let call: wire::Deferred = wire::object(raw).unwrap_or_default();
    Ok(Verdict::Deferred {
        tool_name: bounded::name(call.name)?,
        tool_use_id: bounded::name(call.id)?,
        input: bounded::exact(call.input).unwrap_or(Value::Null),
    })
}

fn first_error(raw: Raw<'_>) -> serde_json::Result<Option<Untrusted>> {
    let list = raw.filter(|raw| raw.get().len() <= bounded::EXACT_LIMIT);
    let errors: Vec<&RawValue> = wire::get(list).unwrap_or_default();
    wire::text(errors.first().copied())
}
