//! The question document, version 1. It carries a round through all its states. Required are `workflow_id` and one of `question`
//! and `questions`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::{Document, Stored};
use crate::error::Result;
use crate::id::{QuestionId, RoundId, SessionId, WorkflowId};
use crate::mailbox::documents::answer::{Answer, AnswerValue};
use crate::mailbox::documents::awaited::Ended;
use crate::mailbox::documents::fields::approval::Approval;
use crate::mailbox::documents::fields::asked_in::AskedIn;
use crate::mailbox::documents::fields::closing::{Closing, TakenBack};
use crate::mailbox::documents::fields::options::Options;
use crate::mailbox::documents::fields::range::Range;
use crate::mailbox::documents::fields::tool_call::ToolCall;
use crate::mailbox::documents::fields::until::Until;
use crate::time::{Span, Time};

/// The largest question document, in bytes: as it is posted, and as another program may put it into `pending/`.
pub const MAX_QUESTION: u64 = 1 << 20;

/// The largest document in `pending/` whose answer was taken back: a question of [`MAX_QUESTION`], one field a line, and whose answers these were.
/// It leaves room for the end of the round.
pub const MAX_TAKEN_BACK: u64 = 3 << 20;

/// The largest document in `pending/`: one of [`MAX_TAKEN_BACK`] with its end.
pub const MAX_PENDING: u64 = 4 << 20;

/// The largest document that answering writes: a question that was perhaps taken back, and an answer of [`crate::mailbox::documents::answer::MAX_ANSWER`] in which
/// every character is escaped.
pub const MAX_ANSWERED: u64 = 28 << 20;

/// The largest document with its answer and late answers. It leaves room for the end of the round.
pub const MAX_UNTIL_CLOSED: u64 = Question::LARGEST - (64 << 10);

impl Stored for Question {
    const LARGEST: u64 = 32 << 20;
}

/// A question file with all of its fields, known and unknown.
pub type QuestionDocument = Document<Question>;

/// The kind of answer that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The names, for messages and help.
    pub const NAMES: &'static str = "choice, multi_choice, yes_no, text, number";
}

/// What happens if nobody answers in time. A default applies only if the asker set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The key of its answer; `q1`, `q2` … if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The text.
    pub question: String,
    /// A short title, as in AskUserQuestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The kind of answer; derived from options where it is missing.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// AskUserQuestion's name for `multi_choice`.
    #[serde(default, rename = "multiSelect", skip_serializing_if = "std::ops::Not::not")]
    pub multi_select: bool,
    /// The options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Whether text beside the options is allowed; it is unless this says `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_text: Option<bool>,
    /// Which numbers are an answer, for the type `number`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// A question, or a batch of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// The version of the layout; 1 if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// The text of the question. May be missing in a batch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The kind of answer; derived from the options where it is missing.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Whether text beside the options is allowed; it is unless this says `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_text: Option<bool>,
    /// Which numbers are an answer, for the type `number`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The questions of a batch, which are answered together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Part>,
    /// The workflow that asks; equals the file's name.
    pub workflow_id: WorkflowId,
    /// The round. Derived from the content if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_id: Option<QuestionId>,
    /// The absolute path of the checkpoint that a fresh process resumes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<PathBuf>,
    /// When it was asked, RFC 3339. Free text in hand-written files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The name of the agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// Background for the person who answers, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// When the question expires, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// What happens when it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<OnExpiry>,
    /// The answer that applies on expiry, if the asker set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<AnswerValue>,
    /// The event that answers it: no person is asked, but one may answer first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// How often the user is reminded of it, such as `4h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_every: Option<Span>,
    /// Questions of larger priority come first in the inbox; 0 if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// The session that asked. It is resumed only if askbox launched it: for this workflow, or in the run that `asked_in` proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The asker's working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The asker's `CLAUDE_CONFIG_DIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
    /// The workflow in whose run this was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// The run of `parent` in which this was asked, with the proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_in: Option<AskedIn>,
    /// The earlier round of the workflow whose answer was a question of the person's, to which this one replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<QuestionId>,
    /// The suspended tool call of the session that waits for the answer. The session is then continued without a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCall>,
    /// The tool call that the person may allow. Such a question has the options `once` and `workflow`, and no other answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The MCP server that asks, by its name in the agent's configuration. While its run lives it waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicited_by: Option<String>,
    /// Whether the session that asked takes the answer itself, as the result of a task of its own. A watcher launches no agent then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_session: bool,
    /// The task of a document that is not a question but a task: see `Content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The files that the prompt of a task names. The agent may read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PathBuf>,
    /// How the awaited workflows ended, in a document that is not a question but reports them: see `Content`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Ended>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The last answer that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<TakenBack>,
    /// How the round ended, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closing>,
    /// Answers that came after the round had ended. They are kept and shown, and launch nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_answers: Vec<Answer>,
}

/// What a question document is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content<'a> {
    /// A question for a person, or the answer to one.
    Question,
    /// A task of `relaunch run` or `relaunch spawn`. Its round begins in `running/`, and nobody is asked.
    Task {
        /// What the agent is to do.
        prompt: &'a str,
        /// The files that the prompt names.
        reads: &'a [PathBuf],
    },
    /// How the workflows ended that this one waited for. Its round begins in `running/`, and nobody is asked.
    Results {
        /// The ends.
        results: &'a [Ended],
        /// The prompt that this workflow began with, if it began with a task.
        prompt: Option<&'a str>,
    },
}

impl Part {
    /// The key of this part's answer, `n` counted from zero.
    #[must_use]
    pub fn key(&self, n: usize) -> String {
        self.id.clone().unwrap_or_else(|| format!("q{}", n + 1))
    }

    /// The kind of answer, derived from the options where none is given.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or(match (self.multi_select, self.options.is_empty()) {
            (true, _) => Kind::MultiChoice,
            (false, false) => Kind::Choice,
            (false, true) => Kind::Text,
        })
    }
}

impl Question {
    /// The largest file of it in `pending/`, in bytes. What was posted is longer once its answer was taken back, and once it is over.
    #[must_use]
    pub fn largest_pending(&self) -> u64 {
        match (&self.closed, &self.taken_back) {
            (Some(_), _) => MAX_PENDING,
            (None, Some(_)) => MAX_TAKEN_BACK,
            (None, None) => MAX_QUESTION,
        }
    }

    /// A question with nothing but its text.
    #[must_use]
    pub fn new(workflow_id: WorkflowId, question: impl Into<String>) -> Self {
        Self {
            schema_version: Some(crate::document::SCHEMA_VERSION),
            question: question.into(),
            kind: None,
            options: Options::default(),
            free_text: None,
            range: None,
            questions: Vec::new(),
            workflow_id,
            question_id: None,
            checkpoint: None,
            timestamp: None,
            asked_by: None,
            context: None,
            expires_at: None,
            on_expiry: None,
            default: None,
            until: None,
            remind_every: None,
            priority: None,
            session_id: None,
            cwd: None,
            config_dir: None,
            parent: None,
            asked_in: None,
            in_reply_to: None,
            tool_call: None,
            elicited_by: None,
            to_session: false,
            approval: None,
            prompt: None,
            reads: Vec::new(),
            results: Vec::new(),
            answer: None,
            taken_back: None,
            closed: None,
            late_answers: Vec::new(),
        }
    }

    /// What this document is about. An answered document is always a question: nothing that the asker wrote makes it a task.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        match (&self.answer, &self.prompt) {
            (None, prompt) if !self.results.is_empty() => Content::Results { results: &self.results, prompt: prompt.as_deref() },
            (None, Some(prompt)) => Content::Task { prompt, reads: &self.reads },
            _ => Content::Question,
        }
    }

    /// The prompt that the workflow began with, if this document holds it. Unlike [`Self::content`] this does not depend on the
    /// answer: gc keeps the first document with a prompt in any case.
    #[must_use]
    pub fn first_prompt(&self) -> Option<&str> {
        self.prompt.as_deref()
    }

    /// The text above the questions of a batch, if it has one.
    #[must_use]
    pub fn lead_in(&self) -> Option<&str> {
        (self.is_batch() && !self.question.is_empty()).then_some(self.question.as_str())
    }

    /// The questions to put to the human: the batch, or the one question as a batch of one.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        if !self.questions.is_empty() {
            return self.questions.clone();
        }
        vec![Part {
            id: None,
            question: self.question.clone(),
            header: None,
            kind: self.kind,
            multi_select: false,
            options: self.options.clone(),
            free_text: self.free_text,
            range: self.range.clone(),
        }]
    }

    /// Whether several questions are asked at once.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The title for lists: the text, or the headers of a batch.
    #[must_use]
    pub fn title(&self) -> String {
        if !self.question.is_empty() {
            return self.question.clone();
        }
        self.questions.iter().map(|p| p.header.as_deref().unwrap_or(&p.question)).collect::<Vec<_>>().join(" · ")
    }

    /// The name of the folder that the asker works in; `-` where it is not known.
    #[must_use]
    pub fn project(&self) -> String {
        let name = self.cwd.as_deref().and_then(Path::file_name);
        name.map_or_else(|| "-".into(), |name| crate::text::excerpt(&name.to_string_lossy(), 40))
    }

    /// A UUIDv5 of the workflow, texts, options and timestamp; other fields do not change it. An answer holds it as `question_hash`, which
    /// names the question that the person saw.
    pub fn hash(&self) -> Result<Uuid> {
        Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, &crate::document::to_json(&self.hashed())?))
    }

    /// What is hashed of it.
    pub(in crate::mailbox) fn hashed(&self) -> impl Serialize {
        (&self.workflow_id, &self.question, &self.kind, &self.options, &self.questions, &self.timestamp)
    }

    /// The derived `question_id` of the `n`th round (from zero) with this content, for documents without one.
    pub fn derived_id(&self, n: u32) -> Result<QuestionId> {
        Ok(QuestionId::from_uuid(Uuid::new_v5(&self.hash()?, &n.to_be_bytes())))
    }

    /// The round, if the document has a `question_id`.
    #[must_use]
    pub fn round(&self) -> Option<RoundId> {
        self.question_id.map(|question| RoundId { workflow: self.workflow_id.clone(), question })
    }

    /// When it was asked, if `timestamp` is a valid time.
    #[must_use]
    pub fn asked_at(&self) -> Option<Time> {
        self.timestamp.as_deref().and_then(crate::time::parse_rfc3339)
    }

    /// What happens on expiry. If `on_expiry` is missing, a default applies if there is one.
    #[must_use]
    pub fn on_expiry(&self) -> OnExpiry {
        self.on_expiry.unwrap_or(if self.default.is_some() { OnExpiry::Default } else { OnExpiry::Keep })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answered_document_is_a_question_whatever_its_other_fields_say() {
        let content = |json: &str| match serde_json::from_str::<Question>(json).unwrap().content() {
            Content::Question => "question",
            Content::Task { .. } => "task",
            Content::Results { .. } => "results",
        };
        let results = r#""results":[{"workflow_id":"c","end":"finished"}]"#;
        assert_eq!(content(r#"{"workflow_id":"w","question":"?"}"#), "question");
        assert_eq!(content(r#"{"workflow_id":"w","prompt":"do"}"#), "task");
        assert_eq!(content(&format!(r#"{{"workflow_id":"w","prompt":"do",{results}}}"#)), "results");
        assert_eq!(content(&format!(r#"{{"workflow_id":"w","prompt":"do","answer":"a",{results}}}"#)), "question");
    }

    /// Every field of a document, as it is spelled, in the order in which it is written.
    const FIELDS: [(&str, &str); 36] = [
        ("schema_version", "1"),
        ("question", r#""Which?""#),
        ("type", r#""choice""#),
        ("options", r#"{"a":"A"}"#),
        ("free_text", "false"),
        ("range", r#"{"min":1.0}"#),
        ("questions", r#"[{"question":"?"}]"#),
        ("workflow_id", r#""w""#),
        ("question_id", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("checkpoint", r#""/c""#),
        ("timestamp", r#""today""#),
        ("asked_by", r#""ann""#),
        ("context", r#""why""#),
        ("expires_at", r#""2026-01-01T00:00:00Z""#),
        ("on_expiry", r#""cancel""#),
        ("default", r#""a""#),
        ("until", r#"{"file":"/x"}"#),
        ("remind_every", r#""4h""#),
        ("priority", "2"),
        ("session_id", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("cwd", r#""/d""#),
        ("config_dir", r#""/e""#),
        ("parent", r#""p""#),
        ("asked_in", r#"{"run":"p/15c96f27-091a-5dc1-bcce-0d2e49721bc0/1","proof":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"}"#),
        ("in_reply_to", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("tool_call", r#"{"name":"T","id":"t"}"#),
        ("approval", r#"{"tool":"Bash","sha256":"x"}"#),
        ("elicited_by", r#""server""#),
        ("to_session", "true"),
        ("prompt", r#""do""#),
        ("reads", r#"["/f"]"#),
        ("results", r#"[{"workflow_id":"c","end":"finished"}]"#),
        ("answer", r#"{"outcome":"answered","value":"a","by":"ann","channel":"x"}"#),
        ("taken_back", r#"{"at":"2026-01-01T00:00:00Z","by":"ann","answer":"a"}"#),
        ("closed", r#"{"state":"delivered","at":"2026-01-01T00:00:00Z","by":"x"}"#),
        ("late_answers", r#"[{"outcome":"answered","value":"b","by":"bob","channel":"x"}]"#),
    ];

    #[test]
    fn a_field_of_another_kind_survives_in_its_place() {
        let spelled = |is_there: &dyn Fn(&str) -> bool| {
            let fields = FIELDS.iter().filter(|(name, _)| *name == "workflow_id" || is_there(name));
            format!("{{{}}}", fields.map(|(name, value)| format!("\"{name}\":{value}")).collect::<Vec<_>>().join(","))
        };
        let survives = |document: String| {
            let question: Question = serde_json::from_str(&document).unwrap();
            assert_eq!(serde_json::to_string(&question).unwrap(), document);
        };
        survives(spelled(&|_| true));
        for (one, _) in FIELDS {
            survives(spelled(&|name| name == one));
            survives(spelled(&|name| name != one));
            survives(spelled(&|name| [one, "prompt"].contains(&name)));
            survives(spelled(&|name| [one, "results"].contains(&name)));
            survives(spelled(&|name| ![one, "answer"].contains(&name)));
        }
    }
}
