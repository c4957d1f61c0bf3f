//! `workflows/ID.json`: what is known of a line of work beside its questions. Written when it is first run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::document::Document;
use crate::error::Result;
use crate::id::{QuestionId, SessionId, WorkflowId};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::time::Time;

/// The largest workflow record, in bytes.
pub const MAX_WORKFLOW: u64 = 1 << 20;

/// One line of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workflow {
    /// The version of the layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// Its id; equals the file's name.
    pub workflow_id: WorkflowId,
    /// The workflow in whose run it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// The newest session that askbox launched for it and that delivered: what `resume` forks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Where its agents run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Its agents' `CLAUDE_CONFIG_DIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_dir: Option<PathBuf>,
    /// Which runner of the configuration launches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent definition that its sessions run as, where one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The model, where one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it was given up with the whole tree it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Time>,
    /// The agent's permission mode, as its stream told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// US dollars of its rounds that `askbox gc` pruned: they go on counting for its limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pruned_cost_usd: f64,
    /// Rounds that are counted there and that may still be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<QuestionId>,
    /// When it was first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
}

fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}

/// Reads a workflow's record; `None` where it was never run.
pub fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Document<Workflow>>> {
    let path = mailbox.document(Folder::Workflows, workflow);
    match disk::read(&path, MAX_WORKFLOW) {
        Err(e) if e.is_missing_file() => Ok(None),
        other => Document::parse(&other?).map(Some).map_err(|e| e.in_file(&path)),
    }
}

/// Changes a workflow's record, making it where there is none.
pub fn update(mailbox: &Mailbox, lock: &WorkflowLock, change: impl FnOnce(&mut Workflow)) -> Result<Workflow> {
    let mut document = match read(mailbox, lock.workflow())? {
        Some(document) => document,
        None => Document::draft(Workflow {
            schema_version: Some(crate::document::SCHEMA_VERSION),
            workflow_id: lock.workflow().clone(),
            parent: None,
            session_id: None,
            cwd: None,
            config_dir: None,
            agent: None,
            role: None,
            model: None,
            cancelled: None,
            permission_mode: None,
            pruned_cost_usd: 0.0,
            pruned: Vec::new(),
            created: Some(crate::time::now()),
        }),
    };
    let before = document.typed.clone();
    change(&mut document.typed);
    let path = mailbox.document(Folder::Workflows, lock.workflow());
    if before != document.typed || !path.exists() {
        document.update()?;
        disk::replace(&path, &document.to_bytes())?;
    }
    Ok(document.typed)
}
