//! A request of a program, as the question that a person is shown.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::approval::ask;
use crate::approval::call::Call;
use crate::asking::form::Elicited;
use crate::asking::posted::{self, LONGEST_NAME};
use crate::asking::questions;
use askbox_mailbox::documents::fields::live::{Live, Offered};
use askbox_mailbox::documents::fields::tool_call::Subagent;
use askbox_mailbox::programs::Facts;
use askbox_mailbox::{
    Document, Error, Outcome, Question, QuestionDocument, Result, SessionId, Time, ToolCall, Trace, WorkflowId, check_draft, text,
};

/// The input of a call, whole.
pub type Input = Map<String, Value>;

/// The subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// May the call be made?
    Call,
    /// The call's input are questions, in the form of Claude Code's tool AskUserQuestion.
    Questions,
    /// An MCP server asks with a form. The input is that of Claude Code's hook `Elicitation`, and `tool` is the server's name.
    Form,
}

/// A request that a person can answer beside the dialog at its terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Each request has a workflow of its own: see [`posted::workflow`].
    pub workflow: WorkflowId,
    /// The session that a person has begun.
    pub session: SessionId,
    /// The folder of the session.
    pub folder: PathBuf,
    /// What is asked.
    pub subject: Subject,
    /// The tool's name.
    pub tool: String,
    /// The call's input.
    pub input: Input,
    /// The folder of the call.
    pub cwd: PathBuf,
    /// The id of the call in its session.
    pub call: String,
    /// The subagent that makes the call.
    pub subagent: Option<Subagent>,
    /// The rest, if the program tells it.
    pub more: More,
}

/// What only some programs tell of a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct More {
    /// The session's own title.
    pub title: Option<String>,
    /// Permissions that the session may get together with the call.
    pub offers: Vec<Offered>,
    /// When the session stops waiting, if no dialog is open.
    pub until: Option<Time>,
    /// True if nobody attends the session.
    pub unattended: bool,
    /// The folder of the program's configuration.
    pub config_dir: Option<PathBuf>,
    /// The trace that the session is part of.
    pub trace: Option<Trace>,
    /// Why a form is asked again.
    pub remark: Option<String>,
}

impl Request {
    /// The call.
    pub fn call(&self) -> Call<'_> {
        Call { tool: &self.tool, input: &self.input, cwd: &self.cwd }
    }

    /// The question about this request of this program, whose dialog opened at this time.
    ///
    /// # Errors
    /// [`askbox_mailbox::error::Error::Invalid`] if the call cannot be shown, or asks in a form that is not known.
    pub fn question(&self, facts: &Facts, since: Time) -> Result<QuestionDocument> {
        let (call, subagent, live) = (self.call(), self.subagent.clone(), self.live(facts, since));
        let mut document = match self.subject {
            Subject::Call => Document::draft(ask::question_of_dialog(&self.workflow, &call, &self.call, subagent, live)?),
            Subject::Questions => {
                let mut document = questions::question(&self.workflow, &self.input)?;
                // The agent wrote the questions, which may have any field.
                check_draft::of_client(&document.typed)?;
                document.typed.tool_call = Some(ToolCall { name: self.tool.clone(), id: self.call.clone(), subagent });
                document.typed.live = Some(Box::new(live));
                document
            }
            Subject::Form => {
                let form = self.form().map_err(|why| Error::failed(why, "fill it in at its terminal"))?;
                let mut question = form.question;
                question.live = Some(Box::new(live));
                Document::draft(question)
            }
        };
        document.typed.cwd = Some(self.cwd.clone()).filter(|cwd| cwd.is_absolute());
        // Nobody but the session speaks here.
        document.typed.asked_by = None;
        (document.typed.config_dir, document.typed.trace) = (self.more.config_dir.clone(), self.more.trace.clone());
        Ok(document)
    }

    /// The form that the request asks with.
    pub(super) fn form(&self) -> Result<Elicited, String> {
        Elicited::of_hook(&self.workflow, &self.tool, &self.input, self.more.remark.as_deref())
    }

    /// Why the answer to the question does not fit the form, if this is one.
    pub(super) fn misfit(&self, question: &Question) -> Option<String> {
        let answer = question.answer.as_ref().filter(|answer| self.subject == Subject::Form && answer.outcome == Outcome::Answered)?;
        self.form().and_then(|form| form.content(answer.value.as_ref().ok_or("it has no value")?)).err()
    }

    fn live(&self, facts: &Facts, since: Time) -> Live {
        let (project, branch) = posted::project(&self.folder);
        let live = Live {
            session: self.session,
            program: facts.name.into(),
            title: self.more.title.as_deref().map(|title| text::excerpt(title.trim(), LONGEST_NAME)).filter(|title| !title.is_empty()),
            project,
            branch,
            agent: self.subagent.as_ref().map(|agent| agent.kind.clone().unwrap_or_else(|| agent.id.clone())),
            since,
            in_background: self.more.until.is_some(),
            unattended: self.more.unattended,
            until: self.more.until,
            offers: Vec::new(),
        };
        live.with_offers(self.more.offers.iter().cloned())
    }
}
