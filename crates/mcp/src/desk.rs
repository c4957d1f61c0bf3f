//! The shared state of the tools: the mailbox, the operator's settings, and the questions that this process has asked.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use uuid::Uuid;

use askbox_cli::args::common::Common;
use askbox_cli::program::{self, Context};
use askbox_config::{Config, Mcp};
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::{Mailbox, Question, QuestionDocument, Receipt, Result, RoundId, WorkflowId};
use askbox_run::claim::inline::Asked;

/// How many questions this process remembers.
const REMEMBERED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) common: Common,
    /// The facts that the program has found out.
    pub(super) context: Context,
    /// The operator's settings.
    pub(super) config: Mcp,
    known: Mutex<AskedHere>,
}

/// The questions that this process has asked.
#[derive(Debug, Default)]
pub(super) struct AskedHere {
    /// The workflow ids that were made here for calls without one, by a hash of their arguments. So a repeated call asks for the same
    /// workflow.
    unnamed: HashMap<Uuid, WorkflowId>,
    rounds: HashMap<RoundId, Asked>,
    /// The questions whose form the client's user has left without an answer.
    pub(super) in_vain: HashSet<RoundId>,
}

impl Desk {
    pub(super) fn new(mailbox: Option<PathBuf>, config: Mcp, context: Context) -> Self {
        Self { common: Common { mailbox, json: false }, context, config, known: Mutex::default() }
    }

    /// The operator's configuration as it is now. A session may last for days.
    pub(super) fn config_now(&self) -> Result<Config> {
        self.context.reload();
        self.context.config()
    }

    /// The mailbox, which must exist.
    pub(super) fn mailbox(&self) -> Result<Mailbox> {
        self.common.open()
    }

    /// The workflow of a call that names none: the current one of the environment, or else one that belongs to exactly these arguments.
    pub(super) fn unnamed(&self, arguments: &Map<String, Value>) -> Result<WorkflowId> {
        if let Some(current) = program::current_workflow()? {
            return Ok(current);
        }
        let content = Uuid::new_v5(&Uuid::NAMESPACE_OID, &askbox_mailbox::document::to_json(arguments)?);
        let mut known = self.known();
        if known.unnamed.len() >= REMEMBERED {
            known.unnamed.clear();
        }
        Ok(known.unnamed.entry(content).or_insert_with(WorkflowId::generate).clone())
    }

    /// Notes that the client's user has left the form of this question without an answer.
    pub(super) fn note_shown_in_vain(&self, asked: &RoundId) {
        let mut known = self.known();
        if known.in_vain.len() < REMEMBERED {
            known.in_vain.insert(asked.clone());
        }
    }

    /// Posts a question and remembers it.
    pub(super) fn post(&self, mailbox: &Mailbox, document: QuestionDocument) -> Result<Asked> {
        self.remember(&post::post_document(mailbox, document, IfPending::Conflict)?)
    }

    /// Remembers a question that was posted.
    pub(super) fn remember(&self, receipt: &Receipt) -> Result<Asked> {
        let asked = Asked::of_receipt(receipt)?;
        let mut known = self.known();
        if known.rounds.len() >= REMEMBERED {
            known.rounds.clear();
        }
        known.rounds.insert(asked.round.clone(), asked.clone());
        Ok(asked)
    }

    /// True if this process asked this round with another question than this one.
    pub(super) fn asked_something_else(&self, round: &RoundId, question: &Question) -> bool {
        self.known().rounds.get(round).is_some_and(|asked| !asked.is(question))
    }

    /// True if the client of this process asked this, here or in an earlier process of its session.
    pub(super) fn has_asked(&self, round: &RoundId, question: &Question) -> bool {
        let session = program::env("CLAUDE_CODE_SESSION_ID").and_then(|id| id.parse().ok());
        self.known().rounds.contains_key(round) || session.is_some() && session == question.session_id
    }

    pub(super) fn known(&self) -> MutexGuard<'_, AskedHere> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
