//! What the tools work with: the mailbox, what the operator permits, and what this process has asked.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::config::Mcp;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::{Mailbox, Question};
use crate::surface::args::common::Common;
use crate::surface::program;

/// How many questions this process remembers.
const REMEMBERED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Desk {
    common: Common,
    /// What the operator says.
    pub(super) config: Mcp,
    asked: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    /// The ids that were made here for questions without one, by what was asked: a repeated call asks for the same workflow.
    unnamed: HashMap<Uuid, WorkflowId>,
    rounds: HashSet<RoundId>,
}

impl Desk {
    pub(super) fn new(mailbox: Option<PathBuf>, config: Mcp) -> Self {
        Self { common: Common { mailbox, json: false }, config, asked: Mutex::default() }
    }

    /// The mailbox, which must exist.
    pub(super) fn mailbox(&self) -> Result<Mailbox> {
        self.common.open()
    }

    /// The mailbox, which is made if it does not exist.
    pub(super) fn mailbox_to_post(&self) -> Result<Mailbox> {
        self.common.open_or_create()
    }

    /// The mailbox, if there is one.
    pub(super) fn mailbox_if_there(&self) -> Result<Option<Mailbox>> {
        self.common.open_if_there()
    }

    /// The workflow of a call that names none: that of the environment, else one that belongs to these arguments.
    pub(super) fn unnamed(&self, arguments: &Map<String, Value>) -> Result<WorkflowId> {
        if let Some(current) = program::current_workflow()? {
            return Ok(current);
        }
        let content = Uuid::new_v5(&Uuid::NAMESPACE_OID, &crate::document::to_json(arguments)?);
        let mut asked = self.asked();
        if asked.unnamed.len() >= REMEMBERED {
            asked.unnamed.clear();
        }
        Ok(asked.unnamed.entry(content).or_insert_with(WorkflowId::generate).clone())
    }

    /// This process has asked this.
    pub(super) fn remember(&self, round: &RoundId) {
        let mut asked = self.asked();
        if asked.rounds.len() >= REMEMBERED {
            asked.rounds.clear();
        }
        asked.rounds.insert(round.clone());
    }

    /// Whether the client of this process asked this: here, or in an earlier process of its session.
    pub(super) fn has_asked(&self, round: &RoundId, question: &Question) -> bool {
        let session = program::env("CLAUDE_CODE_SESSION_ID").and_then(|id| id.parse().ok());
        self.asked().rounds.contains(round) || session.is_some() && session == question.session_id
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
