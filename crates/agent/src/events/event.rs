//! The event types and their JSON.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use askbox_mailbox::Untrusted;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Event {
    /// The number among the events of the round, from 1, over all its attempts.
    pub seq: u64,
    /// When the supervisor read it.
    #[serde(with = "millis")]
    #[schemars(with = "DateTime<Utc>")]
    pub at: DateTime<Utc>,
    /// The event itself.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The end of a tool call, as far as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// It succeeded.
    Done,
    /// It failed, or was refused.
    Failed,
    /// None was seen.
    Unseen,
}

/// The kind of event and its fields. The JSON field `type` names the kind in snake case.
///
/// `parent` is always the id of the tool call whose subagent caused the event. It is absent for the main agent.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The agent's session began, or began another turn.
    Started {
        /// The session's id, a UUID.
        session_id: Untrusted,
        /// The model's name, as the agent named it.
        #[serde(default)]
        model: Untrusted,
        /// The version of the agent program.
        #[serde(default)]
        version: Untrusted,
        /// The permission mode in force.
        #[serde(default)]
        permission_mode: Untrusted,
        /// The working folder of the agent.
        #[serde(default)]
        cwd: Untrusted,
        /// The session that this one continues, by resume or fork.
        resumed: Option<Untrusted>,
        /// The file's name of the program, if the runner is of the kind `program`. It has no session of its own.
        program: Option<Untrusted>,
    },
    /// The agent said something.
    Text {
        /// Its words.
        text: Untrusted,
        /// The tool call whose subagent said it. Absent for the main agent.
        parent: Option<Untrusted>,
    },
    /// The agent showed a thought.
    Thinking {
        /// The thought.
        text: Untrusted,
        /// The tool call whose subagent had it. Absent for the main agent.
        parent: Option<Untrusted>,
    },
    /// The model of the main agent has begun to generate output. It goes on until the next event.
    Generating {
        /// The kind of output.
        what: Generated,
    },
    /// Words that the model of the main agent has just generated. This event is only in `partial.jsonl` and for its readers, never in
    /// `events.jsonl`. Its `seq` is the number of the event before it. The whole text follows as `text`, unless it is cut.
    Partial {
        /// The place in the text where the words begin, in bytes.
        offset: u64,
        /// The words.
        text: Untrusted,
    },
    /// The agent calls a tool.
    ToolCall {
        /// The id of the call. Its result has the same id.
        id: Untrusted,
        /// The tool.
        name: Untrusted,
        /// The input. Long strings in it are shortened. If the input is too large to keep, this is a string with the beginning of its
        /// JSON.
        input: Value,
        /// The tool call whose subagent made this call. Absent for the main agent.
        parent: Option<Untrusted>,
    },
    /// A tool call ended.
    ToolResult {
        /// The id of the call that ended.
        id: Untrusted,
        /// The tool, if the call was seen.
        name: Option<Untrusted>,
        /// True if the tool failed, or was refused.
        is_error: bool,
        /// The beginning of the result's text.
        text: Untrusted,
        /// The true size of the result, in bytes. It is more than `text` has if the text was cut.
        bytes: u64,
        /// The tool call whose subagent made the call. Absent for the main agent.
        parent: Option<Untrusted>,
    },
    /// The API is overloaded, limits the rate or cannot be reached, and the agent waits before it calls the API again. If this is the
    /// last event of an attempt, the next attempt waits.
    Throttled {
        /// The HTTP status. Absent if there was no response, or if the refusal did not come from the API.
        status: Option<u16>,
        /// The number of the next retry, from 1.
        retry: u32,
        /// How many retries the agent makes before it gives up, if the agent reported that.
        max_retries: Option<u32>,
        /// How long it waits, in milliseconds.
        delay_ms: u64,
        /// The agent's word for the reason: `overloaded`, `rate_limit`, `unknown`, … In the last event of an attempt, the reason in
        /// words.
        error: Untrusted,
    },
    /// The API refused a request for a reason that waiting does not mend, such as status 401, and the agent tries the request again.
    Retrying {
        /// The HTTP status.
        status: u16,
        /// The number of the next retry, from 1.
        retry: u32,
        /// How many retries the agent makes before it gives up, if the agent reported that.
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
    /// A permission request was decided, or waits for a person.
    Permission {
        /// The id of the call, if the agent named it.
        id: Option<Untrusted>,
        /// The tool of the request.
        tool: Untrusted,
        /// `allow`, `deny`, `decline` or `wait`. `decline` means that a person decided against it, or that the question to a person ended
        /// without a permission. `wait` means that a person is to decide; until then, the call is not made.
        decision: Untrusted,
        /// The reason that the agent got.
        why: Untrusted,
        /// The rule of `allowed_tools` that would permit such calls.
        rule: Option<Untrusted>,
    },
    /// The run was stopped. This is always its last event. It has the work that the run did, and the session to continue from.
    Interrupted {
        /// The cause of the stop: a step of the interrupt ladder, or the agent's own word.
        how: Untrusted,
        /// The agent's words in the cut turn. If they are long, only their end.
        text: Untrusted,
        /// The agent's report after the cut turn, if it was asked for one.
        report: Option<Untrusted>,
        /// The tool calls of the run, in order. If there are many, only the latest.
        tool_calls: Vec<ToolSummary>,
        /// The number of earlier calls that are not in `tool_calls`.
        #[serde(default, skip_serializing_if = "is_zero")]
        tool_calls_omitted: u64,
        /// Files that the editing tools of this run wrote (`Write`, `Edit`, `MultiEdit`, `NotebookEdit`), in order, at most 1000. Files
        /// that commands of `Bash` changed are not included.
        files_touched: Vec<Untrusted>,
        /// The session to continue from, if one began.
        session_id: Option<Untrusted>,
    },
    /// A turn ended with the agent's own verdict.
    Result {
        /// True if the agent reports it as failed.
        is_error: bool,
        /// The agent's final text, or the error's message.
        text: Untrusted,
        /// The reason why the agent's loop ended, in its own word: `completed`, `api_error`, `max_turns` …
        terminal_reason: Option<Untrusted>,
        /// The reason why the model stopped, in the API's word: `end_turn` …
        stop_reason: Option<Untrusted>,
        /// The HTTP status of the API's refusal, if that ended the turn.
        api_error_status: Option<u16>,
        /// US dollars of this turn alone, subagents included; absent if unknown.
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
        /// The reason why it is not retried automatically.
        why: Untrusted,
    },
    /// A remark of the supervisor, such as a step of the interrupt ladder.
    Note {
        /// The remark.
        text: Untrusted,
    },
    /// A line that askbox does not interpret.
    Raw {
        /// The agent's word for the line (`type` or `type/subtype`), or `not_json`, `over_limit`, `torn`.
        what: Untrusted,
        /// The true size in bytes.
        bytes: u64,
        /// The beginning of the line, if it is not JSON.
        #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
        head: Untrusted,
    },
    /// An event type of a newer version; never written.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// The kind of output of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Tokens {
    /// Tokens that the model read, without those from the cache.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Tokens from the prompt cache.
    pub cache_read: u64,
    /// Tokens written to the prompt cache.
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
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSummary {
    /// The call's id.
    pub id: Untrusted,
    /// The tool.
    pub name: Untrusted,
    /// The input as JSON text. If it is long, only its beginning.
    pub input: Untrusted,
    /// True if the call failed. Absent if it was cut or its end was not seen.
    pub is_error: Option<bool>,
    /// The beginning of the result's text.
    #[serde(default, skip_serializing_if = "Untrusted::is_empty")]
    pub text: Untrusted,
    /// The true size of the result in bytes.
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
    fn an_event_is_one_flat_object_and_survives_a_round_trip() {
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
