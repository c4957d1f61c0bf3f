//! The content of a story: one JSON object for each workflow, as `relaunch status --json` prints it.

use serde::{Serialize, Serializer};

use crate::activity::live::{Live, Refused};
use crate::attempt::auto_choice::AutoChoice;
use crate::attempt::failure::Class;
use crate::story::cause::HoldUp;
use crate::story::kind::{Cause, WaitsFor};
use askbox_agent::events::Tokens;
use askbox_mailbox::{QuestionId, SessionId, Time, Untrusted, WorkflowId};

/// The limit of [`View::last_words`], in characters.
const LAST_WORDS: usize = 300;
/// The limit of a version, in characters.
const VERSION: usize = 40;

/// The state of a workflow's newest round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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
    /// The answer was sent to its session's dialog. Nobody has told yet if the session took it.
    Sent,
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
    #[default]
    Unknown,
}

askbox_mailbox::words!(Standing);

impl Standing {
    /// True if the round is not over.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Delivered | Self::Withdrawn | Self::Expired | Self::Superseded | Self::Dropped | Self::Unknown)
    }

    /// The name of the nearest state of a task in A2A 1.0. A2A has no word for a stop that can be continued, so a run that was stopped is
    /// canceled there, and a parked one has failed.
    pub fn in_a2a(self) -> &'static str {
        match self {
            Self::Pending | Self::Overdue => "TASK_STATE_INPUT_REQUIRED",
            Self::Answered | Self::Queued => "TASK_STATE_SUBMITTED",
            Self::Waiting | Self::Running | Self::Retrying | Self::Throttled | Self::Sent | Self::Orphaned | Self::Awaiting => {
                "TASK_STATE_WORKING"
            }
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

/// The story of one workflow: its newest round's.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, schemars::JsonSchema)]
pub struct Story {
    /// The workflow.
    pub workflow_id: WorkflowId,
    /// The state of its newest round. Beside it, JSON has `a2a_state`: see [`Standing::in_a2a`].
    #[serde(flatten, serialize_with = "in_both_words")]
    #[schemars(with = "BothWords")]
    pub state: Standing,
    /// Since when the round has this state.
    pub since: Option<Time>,
    /// Why the round stands still. Missing if it is at work, or over.
    pub cause: Option<Cause>,
    /// Who can change that.
    pub waits_for: Option<WaitsFor>,
    /// The reason for this state, in words.
    pub why: Option<String>,
    /// The command that lets the round go on.
    pub next: Option<String>,
    /// All causes why the round stands still, the one to be mended first before the others.
    #[serde(skip)]
    pub hold_ups: Vec<HoldUp>,
    /// The id of the round.
    pub question_id: Option<QuestionId>,
    /// The beginning of the question.
    pub question: String,
    /// The beginning of the answer, if the session that asked has taken it itself. In JSON, the history has the answer.
    #[serde(skip)]
    #[serialize_always]
    pub answer: Option<String>,
    /// True if the session that asked takes the answer itself, so that no agent is launched with it.
    #[serde(skip)]
    pub is_of_session: bool,
    /// Who asked.
    pub asked_by: Option<String>,
    /// When it was answered.
    #[serde(skip)]
    #[serialize_always]
    pub answered_at: Option<Time>,
    /// When the newest attempt was launched.
    #[serde(skip)]
    #[serialize_always]
    pub launched_at: Option<Time>,
    /// The number of the newest attempt, from 1, if there was a run.
    pub attempt: Option<u32>,
    /// The session of that attempt.
    pub session_id: Option<SessionId>,
    /// The runner that launched it.
    pub runner: Option<String>,
    /// The version of the agent program, as the program said it.
    pub agent_version: Option<String>,
    /// Why `relaunch.mode = "auto"` chose a new or a resumed session, if that decided.
    pub auto: Option<AutoChoice>,
    /// When the next attempt may start, or a pause of the queue ends.
    pub retry_at: Option<Time>,
    /// The class of the failure, if the attempt failed.
    pub failure: Option<Class>,
    /// The step for a person, in words.
    pub todo: Option<String>,
    /// US dollars of the round: the sum of all attempts that have ended. Missing if no agent told its cost.
    pub cost_usd: Option<f64>,
    /// The agent's final text.
    pub result: Option<String>,
    /// What the run does now and what it has used so far, from its events. Given for live runs, and for a workflow that was asked
    /// for by its id.
    pub live: Option<View>,
}

impl Story {
    /// A story with nothing but the state.
    pub(crate) fn blank(workflow: &WorkflowId, state: Standing) -> Self {
        Self { workflow_id: workflow.clone(), state, ..Self::default() }
    }

    /// The same, held up by these.
    pub(super) fn held_up_by(self, hold_ups: Vec<HoldUp>) -> Self {
        let Some(first) = hold_ups.first() else { return self };
        Self {
            cause: Some(first.cause),
            waits_for: Some(first.cause.waits_for()),
            next: Some(first.next.clone()),
            retry_at: first.until.or(self.retry_at),
            hold_ups,
            ..self
        }
    }

    /// The cost in words, or "unknown" if an agent worked and did not tell it. `None` if no agent worked, or a plain program did.
    pub fn cost(&self) -> Option<String> {
        let is_agents = self.runner.as_deref().is_some_and(|runner| runner != askbox_config::EXEC) && self.launched_at.is_some();
        let is_unknown = is_agents && self.state != Standing::Running;
        self.cost_usd.map(dollars).or_else(|| is_unknown.then(|| "unknown".to_owned()))
    }

    /// [`cost`](Self::cost) where no word beside it says that it is a cost.
    pub fn cost_in_words(&self) -> Option<String> {
        self.cost().map(|cost| if self.cost_usd.is_some() { cost } else { format!("cost {cost}") })
    }

    /// The reason for this state, for a row of a list.
    pub fn why_in_short(&self) -> Option<&str> {
        let of_cause = self.cause.filter(|_| !matches!(self.state, Standing::Parked | Standing::Waiting)).and_then(Cause::in_short);
        self.why.as_deref().map(|why| of_cause.unwrap_or(why))
    }

    /// The command that lets the round go on, unless the words about what to do name it.
    pub fn next_beside_todo(&self) -> Option<&str> {
        self.next.as_deref().filter(|next| !self.todo.as_ref().is_some_and(|todo| todo.contains(next)))
    }

    /// The runner with the version of its agent.
    pub fn runner_in_words(&self) -> Option<String> {
        let runner = self.runner.as_deref()?;
        Some(self.agent_version.as_ref().map_or_else(|| runner.to_owned(), |version| format!("{runner}, version {version}")))
    }

    /// The steps that an answer has come along: accepted, launched, and its end, as far as they are known.
    pub fn progress(&self) -> Vec<Mark> {
        if self.answered_at.is_none() {
            return Vec::new();
        }
        let (launch, end, how) = match self.state {
            Standing::Delivered | Standing::Awaiting => (Reached::Done, "delivered", Reached::Done),
            Standing::Running | Standing::Retrying | Standing::Throttled | Standing::Sent | Standing::Orphaned => {
                (Reached::Done, "delivered", Reached::Now)
            }
            Standing::Parked => (Reached::Done, "parked", Reached::Failed),
            Standing::Interrupted => (Reached::Done, "interrupted", Reached::Failed),
            Standing::Dropped | Standing::Withdrawn | Standing::Superseded | Standing::Expired => {
                (Reached::Ahead, self.state.word(), Reached::Failed)
            }
            _ => (Reached::Now, "delivered", Reached::Ahead),
        };
        let launch = Mark { name: "launched", at: self.launched_at, reached: self.launched_at.map_or(launch, |_| Reached::Done) };
        let end = Mark { name: end, at: self.since.filter(|_| matches!(how, Reached::Done | Reached::Failed)), reached: how };
        vec![Mark { name: "accepted", at: self.answered_at, reached: Reached::Done }, launch, end]
    }
}

/// A cost in words.
pub fn dollars(usd: f64) -> String {
    if usd == 0.0 { "$0".to_owned() } else { format!("${usd:.4}") }
}

/// A step of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// The step in one word.
    pub name: &'static str,
    /// When it was reached, if that is known.
    pub at: Option<Time>,
    /// How far the answer is with it.
    pub reached: Reached,
}

/// How far an answer is with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// It is past it.
    Done,
    /// It is at it.
    Now,
    /// It came to an end there.
    Failed,
    /// It has not come to it.
    Ahead,
}

/// What a run does and what it has used so far.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct View {
    /// `starting`, `thinking`, `generating`, `tool`, `throttled`, `retrying`, `silent`, `asking`, `stopping`, `finished`, `interrupted`,
    /// `parked`, or `ended`: no process of the run is left.
    pub doing: &'static str,
    /// The same with details, for people: `tool:Bash (12s)`.
    pub words: String,
    /// The tool call in flight.
    pub tool: Option<Untrusted>,
    /// API round trips of all finished turns.
    pub turns: u64,
    /// Tokens of all finished turns.
    pub tokens: Tokens,
    /// US dollars of all finished turns. Missing if the agent told no cost.
    pub cost_usd: Option<f64>,
    /// The version of the agent program.
    #[serde(skip)]
    #[serialize_always]
    pub version: Option<String>,
    /// The beginning of the main agent's last text.
    pub last_words: String,
    /// The tool calls that nobody had permitted.
    pub refused: Option<Refused>,
    /// The program of askbox that the agent's shell did not find.
    pub not_found: Option<&'static str>,
}

impl View {
    /// The same, for a run that was asked to stop.
    pub(super) fn stopping(self) -> Self {
        Self { doing: "stopping", words: format!("stopping: {}", self.words), ..self }
    }

    /// The state of `live`, with ages as of `now`.
    pub fn of_live(live: &Live, now: Time) -> Self {
        Self {
            doing: live.state.word(),
            words: live.state.at(now),
            tool: live.tool().cloned(),
            turns: live.turns,
            tokens: live.tokens,
            cost_usd: live.cost_usd,
            version: Some(live.version.excerpt(VERSION)).filter(|version| !version.is_empty()),
            last_words: live.last_words.excerpt(LAST_WORDS),
            refused: Some(live.refused.clone()).filter(|refused| refused.calls > 0),
            not_found: live.not_found.0,
        }
    }
}
