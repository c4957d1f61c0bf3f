//! `workflows/ID.json`: what is known of a line of work beside its questions. Written when it is first run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::{QuestionId, SessionId, WorkflowId};
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
