//! The content of a status: one JSON object for each workflow, as `relaunch status --json` prints it.

use serde::{Serialize, Serializer};

use crate::attempt::auto_choice::AutoChoice;
use crate::attempt::failure::Class;
use crate::view::activity::{Live, Refused};
use askbox_agent::events::Tokens;
use askbox_mailbox::id::{QuestionId, SessionId, WorkflowId};
use askbox_mailbox::time::Time;
use askbox_mailbox::untrusted::Untrusted;

/// The limit of [`View::last_words`], in characters.
const LAST_WORDS: usize = 300;

/// The state of a workflow's newest round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The question waits for an answer.
    Pending,
    /// The question has expired without an answer, and the asker wanted it kept.
    Overdue,
    /// The question waits for an event, not for a person.
    Waiting,
    /// Answered; not claimed yet.
    Answered,
    /// Its run is live.
    Running,
    /// An attempt failed; the next one starts at `retry_at`.
    Retrying,
    /// The API throttled the run; its session continues at `retry_at`.
    Throttled,
    /// Claimed; the next attempt waits to be launched.
    Queued,
    /// Claimed, but no process supervises it: a watcher recovers it.
    Orphaned,
    /// All attempts failed, or a failure that retrying does not mend. `relaunch retry` starts another attempt.
    Parked,
    /// The run was stopped; `relaunch ID` continues it.
    Interrupted,
    /// Its turn is over, and it waits for the workflows that it started.
    Awaiting,
    /// The answer reached the agent.
    Delivered,
    /// The question was taken back.
    Withdrawn,
    /// The question expired.
    Expired,
    /// Another question replaced it.
    Superseded,
    /// The round was given up.
    Dropped,
    /// Its file cannot be read.
    Unreadable,
    /// Other documents name the workflow, but none of its rounds exists.
    Unknown,
}

impl Standing {
    /// True if the round is not over.
    #[must_use]
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Delivered | Self::Withdrawn | Self::Expired | Self::Superseded | Self::Dropped | Self::Unknown)
    }

    /// The name, as JSON has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Overdue => "overdue",
            Self::Waiting => "waiting",
            Self::Answered => "answered",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Throttled => "throttled",
            Self::Queued => "queued",
            Self::Orphaned => "orphaned",
            Self::Parked => "parked",
            Self::Interrupted => "interrupted",
            Self::Awaiting => "awaiting",
            Self::Delivered => "delivered",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Dropped => "dropped",
            Self::Unreadable => "unreadable",
            Self::Unknown => "unknown",
        }
    }

    /// The name of the nearest state of a task in A2A 1.0. A2A has no word for a stop that can be continued, so a run that was stopped is
    /// canceled there, and a parked one has failed.
    #[must_use]
    pub fn in_a2a(self) -> &'static str {
        match self {
            Self::Pending | Self::Overdue => "TASK_STATE_INPUT_REQUIRED",
            Self::Answered | Self::Queued => "TASK_STATE_SUBMITTED",
            Self::Waiting | Self::Running | Self::Retrying | Self::Throttled | Self::Orphaned | Self::Awaiting => "TASK_STATE_WORKING",
            Self::Delivered => "TASK_STATE_COMPLETED",
            Self::Parked => "TASK_STATE_FAILED",
            Self::Interrupted | Self::Withdrawn | Self::Expired | Self::Superseded | Self::Dropped => "TASK_STATE_CANCELED",
            Self::Unreadable | Self::Unknown => "TASK_STATE_UNSPECIFIED",
        }
    }
}

/// The fields of a state in JSON.
#[derive(Serialize, schemars::JsonSchema)]
struct BothWords {
    /// The state of the workflow's newest round.
    state: Standing,
    /// The nearest state of a task in A2A 1.0, such as `TASK_STATE_INPUT_REQUIRED`.
    a2a_state: &'static str,
}

fn in_both_words<S: Serializer>(state: &Standing, serializer: S) -> Result<S::Ok, S::Error> {
    BothWords { state: *state, a2a_state: state.in_a2a() }.serialize(serializer)
}

/// The status of one workflow: its newest round's.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct Status {
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The state of its newest round. Beside it, JSON has `a2a_state`: see [`Standing::in_a2a`].
    #[serde(flatten, serialize_with = "in_both_words")]
    #[schemars(with = "BothWords")]
    pub state: Standing,
    /// The id of that round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<QuestionId>,
    /// The beginning of the question.
    pub question: String,
    /// The beginning of the answer, if the session that asked has taken it itself. In JSON, the history has the answer.
    #[serde(skip)]
    pub answer: Option<String>,
    /// True if the session that asked takes the answer itself, so that no agent is launched with it.
    #[serde(skip)]
    pub is_of_session: bool,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// Since when the round has this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The number of the newest attempt, from 1, if there was a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The session of that attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Why `relaunch.mode = "auto"` chose a new or a resumed session, if that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoChoice>,
    /// When the next attempt may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    /// The reason for this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The class of the failure, if the attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Class>,
    /// What to do about that failure, or about what an awaiting workflow waits for. The latter is given for a workflow that was asked for
    /// by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
    /// US dollars of the round: the sum of all attempts that have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The agent's final text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What the run does now and what it has used so far, from its events. Given for live runs, and for a workflow that was asked
    /// for by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<View>,
}

impl Status {
    /// A status with nothing but the state.
    pub(super) fn blank(workflow: &WorkflowId, state: Standing) -> Self {
        Self {
            workflow_id: workflow.clone(),
            state,
            question_id: None,
            question: String::new(),
            answer: None,
            is_of_session: false,
            asked_by: None,
            since: None,
            attempt: None,
            session_id: None,
            auto: None,
            retry_at: None,
            why: None,
            failure: None,
            todo: None,
            cost_usd: None,
            result: None,
            live: None,
        }
    }
}

/// What a run does and what it has used so far.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct View {
    /// `starting`, `thinking`, `generating`, `tool`, `throttled`, `retrying`, `silent`, `asking`, `stopping`, `finished`, `interrupted`,
    /// `parked`, or `ended`: no process of the run is left.
    pub doing: &'static str,
    /// The same with details, for people: `tool:Bash (12s)`.
    pub words: String,
    /// The tool call in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Untrusted>,
    /// API round trips of all finished turns.
    pub turns: u64,
    /// Tokens of all finished turns.
    pub tokens: Tokens,
    /// US dollars of all finished turns.
    pub cost_usd: f64,
    /// The beginning of the main agent's last text.
    pub last_words: String,
    /// The tool calls that nobody had permitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// The program of askbox that the agent's shell did not find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_found: Option<&'static str>,
}

impl View {
    /// The same, for a run that was asked to stop.
    #[must_use]
    pub(super) fn stopping(self) -> Self {
        Self { doing: "stopping", words: format!("stopping: {}", self.words), ..self }
    }

    /// The state of `live`, with ages as of `now`.
    #[must_use]
    pub fn of_live(live: &Live, now: Time) -> Self {
        Self {
            doing: live.state().word(),
            words: live.state().at(now).to_string(),
            tool: live.tool().cloned(),
            turns: live.turns(),
            tokens: live.tokens(),
            cost_usd: live.cost_usd(),
            last_words: live.last_words().excerpt(LAST_WORDS),
            refused: Some(live.refused().clone()).filter(|refused| refused.calls > 0),
            not_found: live.not_found(),
        }
    }
}
