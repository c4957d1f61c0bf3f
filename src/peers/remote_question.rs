//! A question of another machine. It is read and checked like a file that a stranger put into the mailbox.

use uuid::Uuid;

use crate::address::{Address, HostName};
use crate::document;
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::Answer;
use crate::mailbox::documents::checks::check_question;
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::mailbox::documents::offer::Offer;
use crate::mailbox::documents::question::{MAX_PENDING, QuestionDocument};
use crate::mailbox::documents::shown::OF_ITS_MACHINE;
use crate::mailbox::who::caller::Caller;
use crate::time;
use crate::untrusted::Untrusted;

/// A question that waits on another machine.
#[derive(Debug, Clone)]
pub struct RemoteQuestion {
    /// The machine.
    pub host: HostName,
    /// The workflow that asks.
    pub workflow: WorkflowId,
    /// The question; or why it cannot be read.
    pub asked: Result<Asked, Untrusted>,
    /// How many bytes it takes.
    pub bytes: usize,
}

/// The question itself.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The round, as its machine names it.
    pub question: QuestionId,
    /// The hash of what is shown here. An answer names it, so that it counts only for this text.
    pub hash: Uuid,
    /// The document. Paths in it are those of its machine.
    pub document: QuestionDocument,
}

impl RemoteQuestion {
    /// Reads what a machine says about a question of its own.
    #[must_use]
    pub fn read(host: HostName, workflow: WorkflowId, question: QuestionId, document: &[u8]) -> Self {
        let asked = read(&workflow, question, document).map_err(|e| {
            let said = e.to_string();
            said.strip_prefix("-: ").unwrap_or(&said).into()
        });
        Self { host, workflow, asked, bytes: document.len() }
    }

    /// A question that its machine cannot read.
    #[must_use]
    pub fn unreadable(host: HostName, workflow: WorkflowId, why: String) -> Self {
        Self { host, workflow, bytes: why.len(), asked: Err(why.into()) }
    }

    /// `HOST:WORKFLOW`.
    #[must_use]
    pub fn address(&self) -> Address {
        Address { host: Some(self.host.clone()), workflow: self.workflow.clone() }
    }

    /// The round, if the question can be read.
    #[must_use]
    pub fn round(&self) -> Option<RoundId> {
        let asked = self.asked.as_ref().ok()?;
        Some(RoundId { workflow: self.workflow.clone(), question: asked.question })
    }
}

impl Asked {
    /// An offer of this answer, signed if the caller signs: for the whole question as it is shown here, and for the rest of it, of which its
    /// machine has told the hash.
    ///
    /// # Errors
    /// If it cannot be signed.
    pub fn offer(&self, caller: &Caller, answer: Answer, own_words: bool) -> Result<Offer> {
        let mut question = self.document.typed.clone();
        question.question_id = Some(self.question);
        let at = time::to_the_millisecond(answer.at.unwrap_or_else(time::now));
        let answer = Answer { at: Some(at), question_hash: Some(self.hash), ..answer };
        let told = self.document.field(OF_ITS_MACHINE).and_then(|json| serde_json::from_str::<String>(json).ok());
        let answer = caller.signed_for_another_machine(&question, told.as_deref(), answer)?;
        let shown = told.map(|told| Shown::with(&question, &told)).transpose()?;
        let round = RoundId { workflow: question.workflow_id, question: self.question };
        Ok(Offer::new(&round, self.hash, shown, answer, own_words))
    }
}

fn read(workflow: &WorkflowId, question: QuestionId, bytes: &[u8]) -> Result<Asked> {
    if bytes.len() as u64 > MAX_PENDING {
        return Err(document::too_long(bytes.len(), MAX_PENDING));
    }
    if let Some(version) = document::newer_version(bytes) {
        return Err(Error::Newer { file: "-".into(), version });
    }
    let document = QuestionDocument::parse(bytes)?;
    let typed = &document.typed;
    if typed.workflow_id != *workflow || typed.question_id.is_some_and(|id| id != question) {
        return Err(Error::invalid("workflow_id", "names another round than its machine does", "look at it there"));
    }
    check_question::check(typed)?;
    Ok(Asked { question, hash: typed.hash()?, document })
}
