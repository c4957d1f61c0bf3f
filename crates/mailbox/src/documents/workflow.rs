//! The record of a workflow, `workflows/WORKFLOW.json`: what is known of it beside its rounds. It is written at the first run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::document::Stored;
use crate::documents::fields::approval::CallHash;
use crate::id::{QuestionId, SessionId, WorkflowId};
use crate::time::Time;

/// A tool call that a person has allowed or refused to the workflow, as often as it makes exactly this call.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Grant {
    /// The tool's name.
    pub tool: String,
    /// The hash of the call: its tool, its folder and its input.
    pub sha256: CallHash,
    /// The call as a rule of `[approvals]`, if a rule can say it.
    pub rule: Option<String>,
    /// The beginning of what the person was shown.
    pub shown: String,
    /// Who decided.
    pub by: String,
    /// When.
    pub at: Time,
    /// The round whose answer decided.
    pub question_id: Option<QuestionId>,
}

/// The most tool calls that are allowed to one workflow for good, and the most that are refused.
pub const MOST_STANDING: usize = 64;

/// What is known of a workflow.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Workflow {
    /// The version of the layout.
    pub schema_version: Option<u32>,
    /// The workflow's id; equals the file's name.
    pub workflow_id: WorkflowId,
    /// The workflow in whose run it began.
    pub parent: Option<WorkflowId>,
    /// The newest session that askbox launched for it and that delivered a result. A resumed run forks it.
    pub session_id: Option<SessionId>,
    /// Where its agents run.
    pub cwd: Option<PathBuf>,
    /// The device and the inode number of `cwd` at the last launch, as `DEVICE:INODE`. If the folder is renamed, it is found by them.
    pub cwd_inode: Option<String>,
    /// Its agents' `CLAUDE_CONFIG_DIR`.
    pub config_dir: Option<PathBuf>,
    /// The runner that launched its newest session. The configuration decides which one launches the next.
    pub agent: Option<String>,
    /// The agent definition that its sessions run as, if one was chosen.
    pub role: Option<String>,
    /// The model, if one was chosen.
    pub model: Option<String>,
    /// The live session of a user that started it, and waits for its result. The end of the workflow wakes the session.
    pub awaited_in: Option<SessionId>,
    /// When it was given up together with its whole tree.
    pub cancelled: Option<Time>,
    /// The agent's permission mode, as its stream reported it.
    pub permission_mode: Option<String>,
    /// The tool calls that a person has allowed to it: see `relaunch approve`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// The tool calls that a person has refused to it. A program of an earlier version does not know them, and asks about these calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<Grant>,
    /// The cost of its rounds that `askbox gc` pruned, in US dollars. It still counts against its limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pruned_cost_usd: f64,
    /// Rounds whose cost is part of `pruned_cost_usd`. Some of them may still exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pruned: Vec<QuestionId>,
    /// When it was first run.
    pub created: Option<Time>,
}

impl Stored for Workflow {
    const LARGEST: u64 = 1 << 20;
}

fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}
