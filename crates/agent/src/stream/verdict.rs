//! The end of a turn: the verdict on a `result` line, and the cost of the turn in US dollars and tokens.
//!
//! The exit code and `subtype` do not show if a turn failed: an API error says `success`, and an interrupt exits with 0. The verdict
//! comes from `terminal_reason`, `stop_reason` and `is_error`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Result, Value};

use crate::events::{EventKind, Tokens};
use crate::stream::wire::{self, Raw, ResultLine};
use crate::stream::{StreamItem, bounded};
use askbox_mailbox::Untrusted;

/// The end of a turn, and its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnOutcome {
    /// How it ended.
    pub verdict: Verdict,
    /// The stream's own `is_error`. It alone does not show if the turn failed: see [`Verdict`].
    pub is_error: bool,
    /// The session whose turn it was.
    pub session_id: Untrusted,
    /// The agent's final text, up to 64 KiB; empty if there is none.
    pub text: Untrusted,
    /// The reason why the agent's loop ended, in its own word: `completed`, `api_error`, `max_turns` …
    pub terminal_reason: Option<Untrusted>,
    /// The reason why the model stopped, in the API's word: `end_turn`, `tool_use` …
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

impl TurnOutcome {
    /// The turn's last event, and its end. `files` are those that it touched.
    pub fn into_items(self, files: &[Untrusted]) -> [StreamItem; 2] {
        let api_error_status = if let Verdict::ApiError { status, .. } = self.verdict { status } else { None };
        let event = EventKind::Result {
            is_error: self.is_error,
            text: self.text.clone(),
            terminal_reason: self.terminal_reason.clone(),
            stop_reason: self.stop_reason.clone(),
            api_error_status,
            cost_usd: self.cost_usd,
            tokens: self.tokens,
            turns: self.turns,
            duration_ms: self.duration_ms,
            files_touched: files.to_vec(),
        };
        [StreamItem::Event(event), StreamItem::TurnEnded(Box::new(self))]
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The agent ended it.
    Completed {
        /// The agent's final text, up to 64 KiB.
        text: Untrusted,
    },
    /// A hook stopped it: one of askbox, or one of the agent's own settings. The session keeps everything up to the last tool result.
    HookStopped,
    /// A hook of the agent's own settings kept the message from the model. The agent program calls this a success with no turn.
    Blocked {
        /// The hook's words.
        message: Untrusted,
    },
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
        /// The thing that the interrupt cut.
        during: Interruption,
        /// The stream's `is_error`.
        is_error: bool,
    },
    /// The API refused the request, or could not be reached.
    ApiError {
        /// The HTTP status. `None` without a response.
        status: Option<u16>,
        /// The error type of the API (`overloaded_error`, `authentication_error`) or of the agent program (`connection_failed`).
        error_type: Untrusted,
        /// The message.
        message: Untrusted,
    },
    /// It ended, and nothing shows that the agent has done its work. Only an agent that speaks ACP ends a turn so.
    Unclear {
        /// The reason.
        why: Untrusted,
        /// True if only words are missing: the turn ended normally, and its tokens show that the model has answered.
        is_only_silent: bool,
    },
    /// It reached the limit on turns.
    MaxTurns,
    /// It reached the limit on money.
    Budget,
    /// The prompt does not fit into the model's context, and was not sent.
    TooLong,
    /// The session to resume does not exist.
    ResumeUnknown,
    /// The agent program refused to start.
    NotStarted {
        /// The reason in its own word: `config_file_invalid`, `org_pin_mismatch` …
        reason: Untrusted,
        /// Its first error.
        message: Untrusted,
    },
    /// Anything else.
    Other {
        /// `subtype` of the `result` line.
        subtype: Untrusted,
        /// Its `terminal_reason`, if it gave one.
        terminal_reason: Option<Untrusted>,
        /// Its first error, or its text if it lists no error.
        message: Untrusted,
    },
}

/// The thing that an interrupt cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interruption {
    /// A request to the model.
    Streaming,
    /// A running tool.
    Tools,
}

/// True if the API may accept the same request later, after it has refused it with this HTTP status.
pub fn waiting_mends(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599)
}

/// Reads a `result` line, and moves `spent` on to its total.
pub(super) fn read(line: &str, spent: &mut Spent) -> Result<TurnOutcome> {
    let wire: ResultLine = wire::line(line)?;
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
    let (cost_usd, tokens) = consumption(&wire, spent);
    let turns = match &verdict {
        _ if again => 0,
        Verdict::MaxTurns => turns_at_limit(&wire)?,
        _ => wire::count(wire.num_turns).unwrap_or(0),
    };
    Ok(TurnOutcome {
        verdict,
        is_error,
        session_id: bounded::name(wire.session_id)?,
        text,
        terminal_reason,
        stop_reason,
        cost_usd,
        tokens,
        turns,
        duration_ms: wire::count(wire.duration_ms).unwrap_or(0),
    })
}

fn verdict(wire: &ResultLine<'_>, is_error: bool, terminal_reason: Option<&str>, deferred: bool, text: &Untrusted) -> Result<Verdict> {
    let subtype = wire::word(wire.subtype);
    let not_started = bounded::name(wire.startup_failure_reason)?;
    if !not_started.is_empty() {
        return Ok(Verdict::NotStarted { reason: not_started, message: first_error(wire.errors)?.unwrap_or_else(|| text.clone()) });
    }
    let no_turn = wire::count(wire.num_turns) == Some(0);
    Ok(match terminal_reason {
        Some("tool_deferred") => self::deferred(wire.deferred_tool_use)?,
        Some("completed") | None if subtype == "success" && !is_error && no_turn && !deferred => {
            // The agent program repeats the whole message behind the hook's words.
            let words = text.raw().split("\n\nOriginal prompt:").next().unwrap_or_default();
            Verdict::Blocked { message: words.trim().into() }
        }
        // A Stop hook let no turn follow. The turn itself had ended.
        Some("completed" | "stop_hook_prevented") if !is_error => Verdict::Completed { text: text.clone() },
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
        Some("blocking_limit" | "prompt_too_long") => Verdict::TooLong,
        None if deferred => self::deferred(wire.deferred_tool_use)?,
        None if subtype == "error_max_turns" => Verdict::MaxTurns,
        None if subtype == "error_max_budget_usd" => Verdict::Budget,
        None if subtype == "success" && !is_error => Verdict::Completed { text: text.clone() },
        _ => {
            let message = first_error(wire.errors)?.unwrap_or_else(|| text.clone());
            if message.raw().starts_with("No conversation found with session ID") {
                Verdict::ResumeUnknown
            } else {
                let terminal_reason = terminal_reason.map(Untrusted::from);
                Verdict::Other { subtype: bounded::head(subtype, 64).into(), terminal_reason, message }
            }
        }
    })
}

/// The turns that were made before the limit of turns ended the run. `num_turns` also counts the turn that the limit refused, so the limit
/// itself is read from `Reached maximum number of turns (30)`.
fn turns_at_limit(wire: &ResultLine<'_>) -> Result<u64> {
    let error = first_error(wire.errors)?.unwrap_or_default();
    let limit = error.raw().rsplit_once('(').and_then(|(_, end)| end.split_once(')')?.0.parse().ok());
    let said = wire::count(wire.num_turns).unwrap_or(0);
    Ok(limit.map_or(said, |limit| said.min(limit)))
}

fn deferred(raw: Raw<'_>) -> Result<Verdict> {
    let call: wire::Deferred = wire::object(raw).unwrap_or_default();
    Ok(Verdict::Deferred {
        tool_name: bounded::name(call.name)?,
        tool_use_id: bounded::name(call.id)?,
        input: bounded::exact(call.input).unwrap_or(Value::Null),
    })
}

fn first_error(raw: Raw<'_>) -> Result<Option<Untrusted>> {
    let list = raw.filter(|raw| raw.get().len() <= bounded::EXACT_LIMIT);
    let errors: Vec<&RawValue> = wire::get(list).unwrap_or_default();
    wire::text(errors.first().copied())
}

/// The longest `model_usage_since_last_result` that is read, in bytes. It has a few hundred for each model.
const USAGE_LIMIT: usize = 64 << 10;

/// The US dollars that the stream has reported so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Spent {
    /// The running total of the last result.
    Total(f64),
    /// Unknown: the session has an earlier total that this process has not reported yet.
    Unknown,
}

impl Default for Spent {
    /// Nothing.
    fn default() -> Self {
        Self::Total(0.0)
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: f64,
}

/// The dollars and tokens of the turn that this line ends. The dollars are `None` if they are unknown.
///
/// `model_usage_since_last_result` counts this turn alone. It includes the subagents, and is right even if the turn was cut. Without
/// it, there are two other sources. `usage` counts the main agent alone, and is zero if the turn was cut. `total_cost_usd` is a total
/// over all turns, resumes and forks, so its growth is used.
fn consumption(wire: &ResultLine<'_>, spent: &mut Spent) -> (Option<f64>, Tokens) {
    let before = *spent;
    let total = wire::get::<f64>(wire.total_cost_usd);
    if let Some(total) = total {
        *spent = Spent::Total(total);
    }
    let models = wire.model_usage_since_last_result.filter(|raw| raw.get().len() <= USAGE_LIMIT);
    if let Some(models) = wire::get::<HashMap<String, ModelUsage>>(models) {
        let mut tokens = Tokens::default();
        let mut cost = 0.0;
        for model in models.values() {
            cost += model.cost_usd;
            tokens += Tokens {
                input: model.input_tokens,
                output: model.output_tokens,
                cache_read: model.cache_read_input_tokens,
                cache_creation: model.cache_creation_input_tokens,
            };
        }
        return (Some(cost), tokens);
    }
    let usage: wire::Usage = wire::object(wire.usage).unwrap_or_default();
    let count = |raw| wire::get(raw).unwrap_or(0);
    let tokens = Tokens {
        input: count(usage.input_tokens),
        output: count(usage.output_tokens),
        cache_read: count(usage.cache_read_input_tokens),
        cache_creation: count(usage.cache_creation_input_tokens),
    };
    let cost = match (total, before) {
        (Some(total), Spent::Total(before)) => Some((total - before).max(0.0)),
        _ => None,
    };
    (cost, tokens)
}
