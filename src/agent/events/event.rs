//! The event types and their JSON.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::untrusted::Untrusted;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Place among the events of the round, from 1, over all its attempts.
    pub seq: u64,
    /// When the supervisor read it.
    #[serde(with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "DateTime<Utc>"))]
    pub at: DateTime<Utc>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened; the JSON field `type` names it in snake case.
///
/// `parent` is always the id of the tool call whose subagent said or did it; absent for the main agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The agent's session began, or began another turn.
    Started {
        /// The session's id, a UUID.
        session_id: Untrusted,
        /// The model's name, as the agent named it.
        #[serde(default)]
        model: Untrusted,
        /// Version of the agent program.
        #[serde(default)]
        version: Untrusted,
        /// The permission mode in force.
        #[serde(default)]
        permission_mode: Untrusted,
        /// The folder it works in.
        #[serde(default)]
        cwd: Untrusted,
        /// The session that this one continues, by resume or fork.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumed: Option<Untrusted>,
    },
    /// The agent said something.
    Text {
        /// Its words.
        text: Untrusted,
        /// The tool call whose subagent it was; absent for the main agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Untrusted>,
    },
    /// A thought that the agent shows.
    Thinking {
        /// The thought.
        text: Untrusted,
        /// The tool call whose subagent it was; absent for the main agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Untrusted>,
    },
    /// The model of the main agent has begun to generate this. It goes on until the next event.
    Generating {
        /// What it generates.
        what: Generated,
    },
    /// Words that the model of the main agent has just generated. Only in `partial.jsonl` and for its readers, never in `events.jsonl`:
    /// `seq` is that of the event before it. The whole text follows as `text`, unless it is cut.
    Partial {
        /// Where in the text it begins, in bytes.
        offset: u64,
        /// The words.
        text: Untrusted,
    },
    /// The agent calls a tool.
    ToolCall {
        /// Names the call in its result.
        id: Untrusted,
        /// The tool.
        name: Untrusted,
        /// The input; long strings in it are shortened, and an input too large to keep is a string: its head.
        input: Value,
        /// The tool call whose subagent it was; absent for the main agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Untrusted>,
    },
    /// A tool call ended.
    ToolResult {
        /// The call that ended.
        id: Untrusted,
        /// The tool, if the call was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Untrusted>,
        /// Whether the tool failed, or was refused.
        is_error: bool,
        /// Head of the result's text.
        text: Untrusted,
        /// True size of the result in bytes; more than `text` holds if it was cut.
        bytes: u64,
        /// The tool call whose subagent it was; absent for the main agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Untrusted>,
    },
    /// The API is overloaded, limits the rate or cannot be reached, and the agent waits before it calls it again. As the last event of an
    /// attempt: the next attempt waits.
    Throttled {
        /// HTTP status; absent when there was no response, or when it was not the API that refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Which retry comes next, from 1.
        retry: u32,
        /// How many retries the agent makes before it gives up, if it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_retries: Option<u32>,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// The agent's word for the reason: `overloaded`, `rate_limit`, `unknown`, … In the last event of an attempt, its reason in words.
        error: Untrusted,
    },
    /// The API refused a request for a reason that waiting does not mend, such as status 401, and the agent tries the request again.
    Retrying {
        /// HTTP status.
        status: u16,
        /// Which retry comes next, from 1.
        retry: u32,
        /// How many retries the agent makes before it gives up, if it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_retries: Option<u32>,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// The agent's word for the reason: `authentication_failed`, …
        error: Untrusted,
    },
    /// The agent has been silent for this long.
    Silent {
        /// Seconds since its last line.
        seconds: u64,
    },
    /// The run's workflow posted a question.
    QuestionPosted {
        /// The workflow.
        workflow_id: Untrusted,
        /// Its round, a UUID.
        question_id: Untrusted,
    },
    /// A permission request was decided.
    Permission {
        /// The tool that was asked for.
        tool: Untrusted,
        /// `allow`, `deny`, or `decline`: a person, or the question that a person was asked, decided against it.
        decision: Untrusted,
        /// The reason that the agent was given.
        why: Untrusted,
        /// The rule of `allowed_tools` that would permit such calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Untrusted>,
    },
    /// The run was stopped; always its last event. It holds what the run did, and the session to continue from.
    Interrupted {
        /// What stopped it: a step of the interrupt ladder, or the agent's own word.
        how: Untrusted,
        /// What the agent said in the cut turn (its end, if long).
        text: Untrusted,
        /// What it reported after the cut turn, if it was asked to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Untrusted>,
        /// The tool calls of the run, the latest ones if many, in order.
        tool_calls: Vec<ToolSummary>,
        /// Earlier calls that are not in `tool_calls`.
        #[serde(default, skip_serializing_if = "is_zero")]
        tool_calls_omitted: u64,
        /// Files that the editing tools of this run wrote (`Write`, `Edit`, `MultiEdit`, `NotebookEdit`), in order, at most 1000. What commands
        /// of `Bash` changed is not among them.
        files_touched: Vec<Untrusted>,
        /// The session to continue from, if one began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<Untrusted>,
    },
    /// A turn ended with the agent's own verdict.
    Result {
        /// Whether the agent reports it as failed.
        is_error: bool,
        /// The agent's final text, or the error's message.
        text: Untrusted,
        /// Why the agent's loop ended, in its word: `completed`, `api_error`, `max_turns` …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal_reason: Option<Untrusted>,
        /// Why the model stopped, in the API's word: `end_turn` …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<Untrusted>,
        /// HTTP status of the API's refusal, if that ended the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        api_error_status: Option<u16>,
        /// US dollars of this turn alone, subagents included; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// Tokens of this turn alone, subagents included.
        #[serde(default)]
        tokens: Tokens,
        /// API round trips of this turn.
        #[serde(default)]
        turns: u64,
        /// Wall time of this turn in milliseconds, as the agent measured it.
        #[serde(default)]
        duration_ms: u64,
        /// Files that the editing tools of this run wrote, as in `interrupted`.
        #[serde(default)]
        files_touched: Vec<Untrusted>,
    },
    /// The run is parked: it waits for a person to retry it.
    Parked {
        /// Why it is not retried automatically.
        why: Untrusted,
    },
    /// A remark of the supervisor, such as a step of the interrupt ladder.
    Note {
        /// The remark.
        text: Untrusted,
    },
    /// A line that askbox does not interpret.
    Raw {
        /// The agent's word for it (`type` or `type/subtype`), or `not_json`, `over_limit`, `torn`.
        what: Untrusted,
        /// True size in bytes.
        bytes: u64,
        /// Its beginning, if it is not JSON.
        #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
        head: Untrusted,
    },
    /// An event type of a newer version; never written.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown,
}

/// What a model generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Generated {
    /// A text.
    Text,
    /// A thought.
    Thinking,
    /// The input of a tool call, such as a file to write.
    ToolInput,
}

/// Tokens as the API counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tokens {
    /// Read by the model, without what came from the cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the prompt cache.
    pub cache_read: u64,
    /// Written to the prompt cache.
    pub cache_creation: u64,
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_creation = self.cache_creation.saturating_add(other.cache_creation);
    }
}

/// A tool call with its result, as `interrupted` returns it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolSummary {
    /// The call's id.
    pub id: Untrusted,
    /// The tool.
    pub name: Untrusted,
    /// The input as JSON text, its head if long.
    pub input: Untrusted,
    /// How it ended; absent if it was cut or its end was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Head of the result's text.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub text: Untrusted,
    /// True size of the result in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// RFC 3339 in UTC with milliseconds.
mod millis {
    use chrono::{DateTime, SecondsFormat, Utc};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(at: &DateTime<Utc>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime<Utc>, D::Error> {
        let text = String::deserialize(from)?;
        let at = DateTime::parse_from_rfc3339(&text).map_err(D::Error::custom)?;
        Ok(at.with_timezone(&Utc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_object_and_survives_the_way_there_and_back() {
        let event = Event {
            seq: 7,
            at: DateTime::from_timestamp_millis(1_700_000_000_123).unwrap(),
            kind: EventKind::ToolResult { id: "t1".into(), name: None, is_error: false, text: "ok".into(), bytes: 2, parent: None },
        };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(
            text,
            r#"{"seq":7,"at":"2023-11-14T22:13:20.123Z","type":"tool_result","id":"t1","is_error":false,"text":"ok","bytes":2}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn unknown_fields_and_unknown_types_of_newer_versions_are_read() {
        let text = r#"{"seq":1,"at":"2023-11-14T22:13:20Z","type":"note","text":"x","new":{"a":1}}"#;
        let event: Event = serde_json::from_str(text).unwrap();
        assert_eq!(event.kind, EventKind::Note { text: "x".into() });
        let text = r#"{"seq":1,"at":"2023-11-14T22:13:20Z","type":"telepathy","text":"x"}"#;
        let event: Event = serde_json::from_str(text).unwrap();
        assert_eq!(event.kind, EventKind::Unknown);
    }
}
