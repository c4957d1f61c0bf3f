//! The question part of a document: the form of the question, its dates, and who takes the answer.

use serde::{Deserialize, Serialize};

use crate::documents::answer::AnswerValue;
use crate::documents::fields::approval::Approval;
use crate::documents::fields::attachment::Attachment;
use crate::documents::fields::live::Live;
use crate::documents::fields::options::Options;
use crate::documents::fields::range::Range;
use crate::documents::fields::tool_call::ToolCall;
use crate::documents::until::Until;
use crate::id::QuestionId;
use crate::time::{Span, Time};

/// The kind of answer that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One of the options (or free text).
    Choice,
    /// Any of the options.
    MultiChoice,
    /// `yes` or `no`.
    YesNo,
    /// Free text.
    Text,
    /// A number.
    Number,
}

impl Kind {
    /// The names of all kinds, for messages and help.
    pub const NAMES: &'static str = "choice, multi_choice, yes_no, text, number";
}

/// What happens if nobody answers in time. A default applies only if the asker set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// The question stays open and is shown as overdue.
    #[default]
    Keep,
    /// The asker's `default` becomes the answer, `by: "default"`.
    Default,
    /// The round is closed as expired, and no agent is relaunched.
    Cancel,
}

/// One question of a batch.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Part {
    /// The key of its answer; `q1`, `q2` … if missing.
    pub id: Option<String>,
    /// The text.
    pub question: String,
    /// A short title, as in AskUserQuestion.
    pub header: Option<String>,
    /// The kind of answer; derived from options where it is missing.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// AskUserQuestion's name for `multi_choice`.
    #[serde(default, rename = "multiSelect", skip_serializing_if = "std::ops::Not::not")]
    pub multi_select: bool,
    /// The options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Whether text beside the options is allowed; it is unless this says `false`.
    pub free_text: Option<bool>,
    /// Which numbers are an answer, for the type `number`.
    pub range: Option<Range>,
}

/// What is asked of a person, or of an event. The tasks and results that askbox writes ask nothing. A file made by hand may have these fields beside
/// a task: they are kept, signed, shown and judged like those of a question.
#[derive(Debug, Clone, PartialEq, Default, schemars::JsonSchema)]
pub struct Asked {
    /// The kind of answer; derived from the options where it is missing.
    #[schemars(rename = "type")]
    pub kind: Option<Kind>,
    /// The options.
    #[schemars(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Whether text beside the options is allowed; it is unless this says `false`.
    pub free_text: Option<bool>,
    /// Which numbers are an answer, for the type `number`.
    pub range: Option<Range>,
    /// The questions of a batch, which are answered together.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Part>,
    /// The name of the agent that asks.
    pub asked_by: Option<String>,
    /// Background for the person who answers, in Markdown.
    pub context: Option<String>,
    /// When the question expires, RFC 3339.
    pub expires_at: Option<Time>,
    /// What happens when it expires.
    pub on_expiry: Option<OnExpiry>,
    /// The answer that applies on expiry, if the asker set one.
    pub default: Option<AnswerValue>,
    /// The event that answers it: no person is asked, but one may answer first.
    pub until: Option<Until>,
    /// How often the user is reminded of it, such as `4h`.
    pub remind_every: Option<Span>,
    /// Questions of larger priority come first in the inbox; 0 if missing.
    pub priority: Option<i32>,
    /// The earlier round of the workflow whose answer was a question of the person's, to which this one replies.
    pub in_reply_to: Option<QuestionId>,
    /// The suspended tool call of the session that waits for the answer. The session is then continued without a message.
    pub tool_call: Option<ToolCall>,
    /// The tool call that the person may allow. Such a question has the options `once` and `workflow`, and no other answer. In a
    /// live question, `once` and the offers of `live`.
    pub approval: Option<Approval>,
    /// The MCP server that asks, by its name in the agent's configuration. While its run or its session's hook lives, it waits for the answer.
    pub elicited_by: Option<String>,
    /// Whether the session that asked takes the answer itself, as the result of a task of its own. A watcher launches no agent then.
    #[schemars(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_session: bool,
    /// The attended session whose dialog shows the question at the same moment. A watcher launches no agent for its answer.
    pub live: Option<Box<Live>>,
    /// The files that the person is shown beside the question. Their bytes lie in the mailbox.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl Part {
    /// Returns the key of this part's answer: its `id`, else `q1`, `q2` and so on. `n` is its place in the batch, from zero.
    pub fn key(&self, n: usize) -> String {
        self.id.clone().unwrap_or_else(|| format!("q{}", n + 1))
    }

    /// Returns the kind of answer. If none is given, it is derived from the options.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or(match (self.multi_select, self.options.is_empty()) {
            (true, _) => Kind::MultiChoice,
            (false, false) => Kind::Choice,
            (false, true) => Kind::Text,
        })
    }
}

impl Asked {
    /// Returns what happens on expiry. If `on_expiry` is missing, a default applies if there is one; else the question stays open.
    pub fn on_expiry(&self) -> OnExpiry {
        self.on_expiry.unwrap_or(if self.default.is_some() { OnExpiry::Default } else { OnExpiry::Keep })
    }
}
