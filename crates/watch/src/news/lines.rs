//! The lines between the watcher and a channel, one JSON object each: docs/dev/channels.md.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use askbox_config::Target;
use askbox_mailbox::prompts::{Agent, Reached};
use askbox_mailbox::{QuestionId, Time, WorkflowId};

/// A line to a channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToChannel {
    /// The first line.
    Hello(Box<Hello>),
    /// Tell people of this.
    Notice(Box<Notice>),
    /// How many of the questions that were told with buttons still wait. Before the first such line, none does.
    Waiting(usize),
    /// What became of an answer.
    Receipt(Receipt),
    /// Say whether people can be reached, without telling them anything.
    Check(Uuid),
}

/// A line from a channel.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromChannel {
    /// What became of a notice or of a check.
    Receipt(Receipt),
    /// A person has pressed a button, or written words.
    Answer(ChannelAnswer),
    /// Answers cannot be heard for now.
    Problem(String),
}

/// Who the channel works for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    /// The version of these lines: 1.
    pub schema_version: u32,
    /// The target's name.
    pub target: String,
    /// Its section of the configuration.
    pub settings: Target,
    /// How long telling may take, in seconds: `notify.time_limit`.
    pub time_limit_s: f64,
    /// Where the channel may keep files whose names begin with the target's.
    pub folder: PathBuf,
}

/// A message about one round, or about several together. Programs and webhooks get its JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Message {
    /// The version of this form: 1.
    pub schema_version: u32,
    /// The id. It stays the same when the message is sent again.
    pub id: Uuid,
    /// The word for the event.
    pub event: String,
    /// When it was made.
    pub at: Time,
    /// The target's name.
    pub target: String,
    /// A heading and a line of text for people.
    pub title: String,
    /// The line of text.
    pub text: String,
    /// What it is about.
    #[serde(flatten)]
    pub about: About,
    /// The page that it opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
}

/// What a message is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum About {
    /// A round.
    Round(Box<AboutRound>),
    /// The dialog of a session.
    Session(AboutSession),
    /// A person's prompt to a session.
    Prompt(AboutPrompt),
    /// The events of several rounds.
    Several {
        /// Their number.
        several: usize,
    },
    /// Nothing in the mailbox.
    Nothing {},
}

/// The round that a message is about.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AboutRound {
    /// Its workflow.
    pub workflow_id: WorkflowId,
    /// Its question.
    pub question_id: QuestionId,
    /// The name of the asker's folder.
    pub project: String,
    /// The beginning of the question.
    pub question: String,
    /// When the question expires.
    pub expires_at: Option<Time>,
    /// The reason why the question no longer waits: `answered`, `declined`, `asked back`, `withdrawn`, `expired` and so on.
    pub outcome: Option<String>,
    /// The person who ended the wait.
    pub by: Option<String>,
    /// The way of the answer.
    pub through: Option<String>,
    /// The number of the attempt.
    pub attempt: Option<u32>,
    /// The reason why it failed, or waits again.
    pub why: Option<String>,
    /// What the attempt cost.
    pub cost_usd: Option<f64>,
}

/// The dialog of a session that a message is about. Nobody can answer it from another place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AboutSession {
    /// The program.
    pub program: String,
    /// The id of the session.
    pub session_id: String,
    /// The name of its folder.
    pub project: String,
    /// The tool that it wants to call.
    pub tool: String,
    /// The call in the program's words.
    pub asks: String,
    /// When the dialog opened.
    pub since: Time,
}

/// The prompt that a message is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AboutPrompt {
    /// The agent of the session.
    pub program: Agent,
    /// The id of the session.
    pub session_id: String,
    /// The beginning of what the person had written.
    pub prompt: String,
    /// How far it has come.
    pub reached: Reached,
    /// Why it has come no further, or how the turn has ended.
    pub why: String,
}

/// How much attention a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// The message only changes an earlier one.
    Low,
    /// The usual.
    Normal,
    /// A person has to act soon.
    High,
}

/// A message to people.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Notice {
    /// The message as programs and webhooks get it.
    #[serde(flatten)]
    pub message: Message,
    /// The id of the message that it replaces, if the target can do that.
    pub card: Uuid,
    /// How much attention it asks for.
    pub urgency: Urgency,
    /// The options that a button can choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<String>,
    /// The hash of the question as it is shown, if an answer may come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
}

/// The end of something with this id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Receipt {
    /// The id of the notice, the check or the answer.
    pub id: String,
    /// Why it failed. Missing: it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A person's answer, to a question that a notice showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelAnswer {
    /// The channel's id for it, which its receipt has.
    pub id: String,
    /// As in the notice.
    pub workflow_id: WorkflowId,
    /// As in the notice.
    pub question_id: QuestionId,
    /// As in the notice.
    pub shown: String,
    /// The option, or the person's words.
    pub value: String,
}
