//! The question document, version 1. It carries a round through all its states. Required are `workflow_id`, and either `question`
//! or `questions`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::documents::closing::TakenBack;
use crate::documents::fields::asked_in::AskedIn;
use crate::documents::fields::live::Live;
use crate::documents::fields::{approval, approval_text, trace};
use crate::{
    Answer, AnswerValue, Approval, Attachment, Choice, Closing, Document, Ended, Kind, OnExpiry, Options, Part, QuestionId, Range, Result,
    RoundId, SessionId, Span, Stored, Time, ToolCall, Trace, Until, WorkflowId, text,
};

/// The largest question document in bytes, as it is posted, or as another program may put it into `pending/`.
pub const MAX_QUESTION: u64 = 1 << 20;

/// The largest document in `pending/` whose answer was taken back, in bytes. It has room for a question of [`MAX_QUESTION`] bytes,
/// written one field a line, and for the list of the earlier answers' givers. [`MAX_PENDING`] leaves room for the end of the round.
pub const MAX_TAKEN_BACK: u64 = 3 << 20;

/// The largest document in `pending/`, in bytes: one of [`MAX_TAKEN_BACK`] with the end of its round.
pub const MAX_PENDING: u64 = 4 << 20;

/// The largest document that answering writes, in bytes: a question that was perhaps taken back before, and an answer of
/// [`crate::documents::answer::MAX_ANSWER`] bytes with every character escaped.
pub const MAX_ANSWERED: u64 = 28 << 20;

/// The largest document with its answer and late answers, in bytes. It leaves room for the end of the round.
pub const MAX_UNTIL_CLOSED: u64 = Question::LARGEST - (64 << 10);

impl Stored for Question {
    const LARGEST: u64 = 32 << 20;
}

/// A question file with all of its fields, known and unknown.
pub type QuestionDocument = Document<Question>;

/// A question, or a batch of them. In the file, the fields of all kinds lie beside one another, in the order of this type.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Question {
    /// The version of the layout; 1 if missing.
    pub schema_version: Option<u32>,
    /// The text of the question. May be missing in a batch.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The kind of answer; derived from the options where it is missing.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// The options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
    /// Whether text beside the options is allowed; it is unless this says `false`.
    pub free_text: Option<bool>,
    /// Which numbers are an answer, for the type `number`.
    pub range: Option<Range>,
    /// The questions of a batch, which are answered together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Part>,
    /// The workflow that asks; equals the file's name.
    pub workflow_id: WorkflowId,
    /// The round. Derived from the content if missing.
    pub question_id: Option<QuestionId>,
    /// The absolute path of the checkpoint that a fresh process resumes from.
    pub checkpoint: Option<PathBuf>,
    /// When it was asked, RFC 3339. Free text in hand-written files.
    pub timestamp: Option<String>,
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
    /// The session that asked. It is resumed only if askbox launched it: for this workflow, or in the run that `asked_in` proves.
    pub session_id: Option<SessionId>,
    /// The live session whose shell asked, if it goes on with the answer: a watcher launches no agent for it while the session lives. It is
    /// `session_id` for a session of Claude Code, and a thread of Codex otherwise. Hashes leave it out.
    pub continues_in: Option<SessionId>,
    /// The asker's working folder.
    pub cwd: Option<PathBuf>,
    /// The asker's `CLAUDE_CONFIG_DIR`.
    pub config_dir: Option<PathBuf>,
    /// The workflow in whose run this was asked.
    pub parent: Option<WorkflowId>,
    /// The run of `parent` in which this was asked, with the proof.
    pub asked_in: Option<AskedIn>,
    /// The asker's place in a trace. The run that the answer starts belongs to the same trace. A malformed trace is ignored, and hashes
    /// leave it out.
    #[serde(default, deserialize_with = "trace::well_formed")]
    pub trace: Option<Trace>,
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_session: bool,
    /// The attended session whose dialog shows the question at the same moment. A watcher launches no agent for its answer.
    pub live: Option<Box<Live>>,
    /// The files that the person is shown beside the question. Their bytes lie in the mailbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The task of a document that is not a question but a task: see `Content`.
    pub prompt: Option<String>,
    /// The files that the prompt of a task names. The agent may read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PathBuf>,
    /// How the awaited workflows ended, in a document that is not a question but reports them: see `Content`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Ended>,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
    /// The last answer that was taken back.
    pub taken_back: Option<TakenBack>,
    /// How the round ended, once it has ended.
    pub closed: Option<Closing>,
    /// Answers that came after the round had ended. They are kept and shown, and launch nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_answers: Vec<Answer>,
}

/// The subject of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content<'a> {
    /// A question for a person, or the answer to one.
    Question,
    /// The prompt of a task of `relaunch run` or `relaunch spawn`. Its round begins in `running/`, and no person is asked.
    Task(&'a str),
    /// The ends of the awaited workflows. Its round begins in `running/`, and no person is asked.
    Results(&'a [Ended]),
}

impl Content<'_> {
    /// True if a person is asked.
    pub fn asks_a_person(self) -> bool {
        self == Self::Question
    }
}

impl Question {
    /// Returns what happens on expiry. If `on_expiry` is missing, a default applies if there is one; else the question stays open.
    pub fn on_expiry(&self) -> OnExpiry {
        self.on_expiry.unwrap_or(if self.default.is_some() { OnExpiry::Default } else { OnExpiry::Keep })
    }

    /// The session of Codex that goes on with the answer.
    pub fn codex_thread(&self) -> Option<SessionId> {
        self.continues_in.filter(|id| self.session_id.as_ref() != Some(id))
    }

    /// Returns the largest size of this document in `pending/`, in bytes. A posted document grows when its answer is taken back,
    /// and when its round ends.
    pub fn largest_pending(&self) -> u64 {
        match (&self.closed, &self.taken_back) {
            (Some(_), _) => MAX_PENDING,
            (None, Some(_)) => MAX_TAKEN_BACK,
            (None, None) => MAX_QUESTION,
        }
    }

    /// Returns a question that has only its text.
    pub fn new(workflow_id: WorkflowId, question: impl Into<String>) -> Self {
        let schema_version = Some(crate::document::SCHEMA_VERSION);
        Self { schema_version, workflow_id, question: question.into(), ..Self::default() }
    }

    /// Returns the question with these options, as pairs of a key and its description, in their order. The answer is one of the keys.
    pub fn with_options<K: Into<String>, D: Into<String>>(mut self, options: impl IntoIterator<Item = (K, D)>) -> Self {
        let choice = |(key, description): (K, D)| Choice { key: key.into(), description: description.into(), preview: None };
        self.options = Options(options.into_iter().map(choice).collect());
        self
    }

    /// Returns the question with `yes` and `no` as its answers.
    pub fn yes_or_no(mut self) -> Self {
        self.kind = Some(Kind::YesNo);
        self
    }

    /// Returns the question with a number of this range as its answer.
    pub fn number(mut self, range: Range) -> Self {
        (self.kind, self.range) = (Some(Kind::Number), Some(range));
        self
    }

    /// Returns the question as a batch: its text stands above these questions, which are answered together.
    pub fn with_questions(mut self, questions: impl IntoIterator<Item = Part>) -> Self {
        self.questions = questions.into_iter().collect();
        self
    }

    /// Returns the question with background for the person who answers, in Markdown.
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Returns the context for people. Beside a tool call, it is the call's own text, so no character of it is invisible.
    pub fn shown_context(&self) -> Option<Cow<'_, str>> {
        let context = self.context.as_deref()?;
        Some(if self.approval.is_some() { text::visible(context).into() } else { context.into() })
    }

    /// Returns the subject of this document. An answered document is always a question, so an asker's fields cannot turn it into a task.
    pub fn content(&self) -> Content<'_> {
        match &self.prompt {
            _ if self.answer.is_some() => Content::Question,
            _ if !self.results.is_empty() => Content::Results(&self.results),
            Some(prompt) => Content::Task(prompt),
            None => Content::Question,
        }
    }

    /// Returns the text above the questions of a batch, if it has one.
    pub fn lead_in(&self) -> Option<&str> {
        (self.is_batch() && !self.question.is_empty()).then_some(self.question.as_str())
    }

    /// Returns the questions for the person: the batch, or the one question as a batch of one.
    pub fn parts(&self) -> Vec<Part> {
        if self.is_batch() {
            return self.questions.clone();
        }
        let mut options = self.options.clone();
        if self.approval.is_some() {
            approval::name_workflow(&mut options, &self.workflow_id);
        }
        vec![Part {
            id: None,
            question: self.question.clone(),
            header: None,
            kind: self.kind,
            multi_select: false,
            options,
            free_text: self.free_text,
            range: self.range.clone(),
        }]
    }

    /// True if this is a batch of questions.
    pub fn is_batch(&self) -> bool {
        !self.questions.is_empty()
    }

    /// Returns the title for lists: the text, the headers of a batch, or the call in short.
    pub fn title(&self) -> String {
        let tool = self.approval.as_ref().map(|approval| approval.tool.as_str());
        let call = |tool| approval_text::in_short(&self.question, tool, self.context.as_deref(), self.cwd.as_deref());
        if let Some(call) = tool.and_then(call) {
            return call;
        }
        if !self.question.is_empty() {
            return self.question.clone();
        }
        self.questions.iter().map(|p| p.header.as_deref().unwrap_or(&p.question)).collect::<Vec<_>>().join(" · ")
    }

    /// Returns the name of the asker's working folder; `-` if it is not known.
    pub fn project(&self) -> String {
        let name = self.cwd.as_deref().and_then(Path::file_name);
        name.map_or_else(|| "-".into(), |name| crate::text::excerpt(&name.to_string_lossy(), 40))
    }

    /// Returns a UUIDv5 of the workflow, texts, options and timestamp; other fields do not change it. An answer holds it as
    /// `question_hash`, to name the question that the person saw.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) if the question cannot be written as JSON.
    pub fn hash(&self) -> Result<Uuid> {
        Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, &crate::document::to_json(&self.hashed())?))
    }

    /// Returns the fields that [`hash`](Self::hash) covers.
    pub(crate) fn hashed(&self) -> impl Serialize {
        (&self.workflow_id, &self.question, &self.kind, &self.options, &self.questions, &self.timestamp)
    }

    /// Returns the derived `question_id` of the `n`th round (from zero) with this content, for documents without a `question_id`.
    ///
    /// # Errors
    /// Those of [`hash`](Self::hash).
    pub fn derived_id(&self, n: u32) -> Result<QuestionId> {
        Ok(QuestionId::from_uuid(Uuid::new_v5(&self.hash()?, &n.to_be_bytes())))
    }

    /// Returns the round, if the document has a `question_id`.
    pub fn round(&self) -> Option<RoundId> {
        self.question_id.map(|question| RoundId { workflow: self.workflow_id.clone(), question })
    }

    /// Returns when the question was asked, if `timestamp` is a valid time.
    pub fn asked_at(&self) -> Option<Time> {
        self.timestamp.as_deref().and_then(crate::time::parse_rfc3339)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field of a document as the file spells it, in the order of writing.
    const FIELDS: [(&str, &str); 40] = [
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
        ("continues_in", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("cwd", r#""/d""#),
        ("config_dir", r#""/e""#),
        ("parent", r#""p""#),
        ("asked_in", r#"{"run":"p/15c96f27-091a-5dc1-bcce-0d2e49721bc0/1","proof":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"}"#),
        ("trace", r#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"rojo=1"}"#),
        ("in_reply_to", r#""15c96f27-091a-5dc1-bcce-0d2e49721bc0""#),
        ("tool_call", r#"{"name":"T","id":"t"}"#),
        ("approval", r#"{"tool":"Bash","sha256":"x"}"#),
        ("elicited_by", r#""server""#),
        ("to_session", "true"),
        (
            "live",
            r#"{"session":"15c96f27-091a-5dc1-bcce-0d2e49721bc0","program":"claude","project":"p","since":"2026-01-01T00:00:00Z","offers":[{"mode":"auto"}]}"#,
        ),
        ("attachments", r#"[{"name":"a.diff","type":"text/x-diff","size":3,"sha256":"x"}]"#),
        ("prompt", r#""do""#),
        ("reads", r#"["/f"]"#),
        ("results", r#"[{"workflow_id":"c","end":"delivered"}]"#),
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

    #[test]
    fn a_malformed_trace_is_no_trace_and_stays_in_the_file() {
        let right = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for wrong in ["7", r#""x""#, "[1e999]", "{}", r#"{"traceparent":"00-x"}"#, r#"{"traceparent":7}"#, r#"{"a":{"b":["\ud800"]}}"#] {
            let file = format!(r#"{{"workflow_id":"w","question":"?","trace":{wrong}}}"#);
            let mut document = QuestionDocument::parse(file.as_bytes()).unwrap_or_else(|e| panic!("{wrong}: {e}"));
            assert_eq!(document.typed.trace, None, "{wrong}");
            document.typed.priority = Some(1);
            document.update().unwrap();
            assert_eq!(document.field("trace"), Some(wrong));
        }
        let file = format!(r#"{{"workflow_id":"w","question":"?","trace":{{"traceparent":"{right}","tracestate":"=","more":1}}}}"#);
        let mut document = QuestionDocument::parse(file.as_bytes()).unwrap();
        let trace = document.typed.trace.clone().unwrap();
        assert_eq!((trace.traceparent.as_str(), trace.tracestate), (right, None));
        document.typed.priority = Some(1);
        document.update().unwrap();
        assert!(document.field("trace").unwrap().contains("more"), "what is in it stays as it was written");
    }

    #[test]
    fn the_text_beside_a_call_has_no_invisible_character() {
        let mut question = Question::new("w".parse().unwrap(), "?").with_context("a\u{200b}b");
        assert_eq!(question.shown_context().as_deref(), Some("a\u{200b}b"));
        question.approval = serde_json::from_str(r#"{"tool":"ExitPlanMode","sha256":"x"}"#).unwrap();
        assert_eq!(question.shown_context().as_deref(), Some("a\\u{200b}b"));
    }

    #[test]
    fn an_answered_document_is_a_question_with_any_other_fields() {
        let content = |json: &str| match serde_json::from_str::<Question>(json).unwrap().content() {
            Content::Question => "question",
            Content::Task(_) => "task",
            Content::Results(_) => "results",
        };
        let results = r#""results":[{"workflow_id":"c","end":"delivered"}]"#;
        assert_eq!(content(r#"{"workflow_id":"w","question":"?"}"#), "question");
        assert_eq!(content(r#"{"workflow_id":"w","prompt":"do"}"#), "task");
        assert_eq!(content(&format!(r#"{{"workflow_id":"w","prompt":"do",{results}}}"#)), "results");
        assert_eq!(content(&format!(r#"{{"workflow_id":"w","prompt":"do","answer":"a",{results}}}"#)), "question");
    }
}
