//! The question document, version 1. It carries a round through all its states. Required are `workflow_id`, and either `question`
//! or `questions`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use uuid::Uuid;

use crate::document::{Document, Stored};
use crate::documents::answer::Answer;
use crate::documents::asked::{Asked, Part};
use crate::documents::closing::{Closing, TakenBack};
use crate::documents::content::Content;
use crate::documents::fields::asked_in::AskedIn;
use crate::documents::fields::options::{Choice, Options};
use crate::documents::fields::trace::Trace;
use crate::documents::fields::{approval, approval_text};
use crate::error::Result;
use crate::id::{QuestionId, RoundId, SessionId, WorkflowId};
use crate::text;
use crate::time::Time;

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

/// A question, or a batch of them.
#[derive(Debug, Clone, PartialEq, schemars::JsonSchema)]
pub struct Question {
    /// The version of the layout; 1 if missing.
    pub schema_version: Option<u32>,
    /// The text of the question. May be missing in a batch.
    #[schemars(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The workflow that asks; equals the file's name.
    pub workflow_id: WorkflowId,
    /// The round. Derived from the content if missing.
    pub question_id: Option<QuestionId>,
    /// The absolute path of the checkpoint that a fresh process resumes from.
    pub checkpoint: Option<PathBuf>,
    /// When it was asked, RFC 3339. Free text in hand-written files.
    pub timestamp: Option<String>,
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
    pub trace: Option<Trace>,
    /// The files that the prompt of a task names. The agent may read them.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PathBuf>,
    /// What is asked. Every kind has it: whatever lies in `pending/` is put to a person, a file with a `prompt` too.
    #[schemars(flatten)]
    pub asked: Asked,
    /// What the file says that it is about. It counts only without an answer: decide by [`Question::content`].
    #[schemars(flatten, with = "crate::documents::content::Told")]
    pub unanswered: Content,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
    /// The last answer that was taken back.
    pub taken_back: Option<TakenBack>,
    /// How the round ended, once it has ended.
    pub closed: Option<Closing>,
    /// Answers that came after the round had ended. They are kept and shown, and launch nothing.
    #[schemars(default, skip_serializing_if = "Vec::is_empty")]
    pub late_answers: Vec<Answer>,
}

impl Question {
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
        Self {
            schema_version: Some(crate::document::SCHEMA_VERSION),
            question: question.into(),
            workflow_id,
            question_id: None,
            checkpoint: None,
            timestamp: None,
            session_id: None,
            continues_in: None,
            cwd: None,
            config_dir: None,
            parent: None,
            asked_in: None,
            trace: None,
            reads: Vec::new(),
            asked: Asked::default(),
            unanswered: Content::Question,
            answer: None,
            taken_back: None,
            closed: None,
            late_answers: Vec::new(),
        }
    }

    /// Returns the question with these options, as pairs of a key and its description, in their order. The answer is one of the keys.
    pub fn with_options<K: Into<String>, D: Into<String>>(mut self, options: impl IntoIterator<Item = (K, D)>) -> Self {
        let choice = |(key, description): (K, D)| Choice { key: key.into(), description: description.into(), preview: None };
        self.asked.options = Options(options.into_iter().map(choice).collect());
        self
    }

    /// Returns the question with background for the person who answers, in Markdown.
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.asked.context = Some(context.into());
        self
    }

    /// Returns the context for people. Beside a tool call, it is the call's own text, so no character of it is invisible.
    pub fn shown_context(&self) -> Option<Cow<'_, str>> {
        let context = self.asked.context.as_deref()?;
        Some(if self.asked.approval.is_some() { text::visible(context).into() } else { context.into() })
    }

    /// Returns the subject of this document. An answered document is always a question, so an asker's fields cannot turn it into a task.
    pub fn content(&self) -> &Content {
        if self.answer.is_some() { &Content::Question } else { &self.unanswered }
    }

    /// Returns the prompt that the workflow began with, if this document holds it. Unlike [`Self::content`], this does not depend
    /// on the answer: `askbox gc` keeps the first document with a prompt in any case.
    pub fn first_prompt(&self) -> Option<&str> {
        self.unanswered.spelled().0
    }

    /// Returns the text above the questions of a batch, if it has one.
    pub fn lead_in(&self) -> Option<&str> {
        (self.is_batch() && !self.question.is_empty()).then_some(self.question.as_str())
    }

    /// Returns the questions for the person: the batch, or the one question as a batch of one.
    pub fn parts(&self) -> Vec<Part> {
        if self.is_batch() {
            return self.asked.questions.clone();
        }
        let mut options = self.asked.options.clone();
        if self.asked.approval.is_some() {
            approval::name_workflow(&mut options, &self.workflow_id);
        }
        vec![Part {
            id: None,
            question: self.question.clone(),
            header: None,
            kind: self.asked.kind,
            multi_select: false,
            options,
            free_text: self.asked.free_text,
            range: self.asked.range.clone(),
        }]
    }

    /// True if this is a batch of questions.
    pub fn is_batch(&self) -> bool {
        !self.asked.questions.is_empty()
    }

    /// Returns the title for lists: the text, the headers of a batch, or the call in short.
    pub fn title(&self) -> String {
        let tool = self.asked.approval.as_ref().map(|approval| approval.tool.as_str());
        let call = |tool| approval_text::in_short(&self.question, tool, self.asked.context.as_deref(), self.cwd.as_deref());
        if let Some(call) = tool.and_then(call) {
            return call;
        }
        if !self.question.is_empty() {
            return self.question.clone();
        }
        self.asked.questions.iter().map(|p| p.header.as_deref().unwrap_or(&p.question)).collect::<Vec<_>>().join(" · ")
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
        (&self.workflow_id, &self.question, &self.asked.kind, &self.asked.options, &self.asked.questions, &self.timestamp)
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

    #[test]
    fn the_text_beside_a_call_has_no_invisible_character() {
        let mut question = Question::new("w".parse().unwrap(), "?").with_context("a\u{200b}b");
        assert_eq!(question.shown_context().as_deref(), Some("a\u{200b}b"));
        question.asked.approval = serde_json::from_str(r#"{"tool":"ExitPlanMode","sha256":"x"}"#).unwrap();
        assert_eq!(question.shown_context().as_deref(), Some("a\\u{200b}b"));
    }

    #[test]
    fn an_answered_document_is_a_question_with_any_other_fields() {
        let content = |json: &str| match serde_json::from_str::<Question>(json).unwrap().content() {
            Content::Question => "question",
            Content::Task { .. } => "task",
            Content::Results { .. } => "results",
        };
        let results = r#""results":[{"workflow_id":"c","end":"delivered"}]"#;
        assert_eq!(content(r#"{"workflow_id":"w","question":"?"}"#), "question");
        assert_eq!(content(r#"{"workflow_id":"w","prompt":"do"}"#), "task");
        assert_eq!(content(&format!(r#"{{"workflow_id":"w","prompt":"do",{results}}}"#)), "results");
        assert_eq!(content(&format!(r#"{{"workflow_id":"w","prompt":"do","answer":"a",{results}}}"#)), "question");
    }
}
