//! The await document, `awaits/PARENT/CHILD.json`: a workflow waits for the end of another one, and will be told of it.
//!
//! The record of a workflow, `workflows/WORKFLOW.json`: what is known of it beside its rounds. It is written at the first run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::documents::fields::approval::CallHash;
use crate::{AttemptId, QuestionId, SessionId, Stored, Time, WorkflowId};

/// The ends of a workflow, as its parent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum End {
    /// Its agent finished the work.
    Delivered,
    /// A process that askbox did not launch took the answer, and went on by itself.
    #[strum(serialize = "handed over")]
    HandedOver,
    /// It was given up.
    Dropped,
    /// It never began.
    Unknown,
    /// Its attempts are used up. The user may retry it.
    Parked,
    /// Its question was withdrawn.
    Withdrawn,
    /// Nobody answered its question in time.
    Expired,
    /// The user or a limit stopped it.
    Interrupted,
}

crate::words!(End);

impl End {
    /// True if the workflow may still be continued: it was parked or stopped.
    pub fn may_change(self) -> bool {
        matches!(self, Self::Parked | Self::Interrupted)
    }
}

/// How a workflow ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ended {
    /// The workflow that ended.
    pub workflow_id: WorkflowId,
    /// How it ended.
    pub end: End,
    /// The agent's final text, or the reason why there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The file with the final text, if the text is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The limit of turns cut the agent off, and the text is what it had written until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Whether the parent may have seen this: a process was about to print it in the parent's own turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps_told: bool,
}

/// When a parent is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// When all of its awaited children have ended.
    #[default]
    All,
    /// As soon as this child has ended.
    Any,
}

/// One parent waits for one child.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Await {
    /// The version of the layout.
    #[serde(default)]
    pub schema_version: u32,
    /// The id of this await.
    pub await_id: Uuid,
    /// The workflow that waits; equals the folder's name.
    pub parent: WorkflowId,
    /// The workflow it waits for; equals the file's name.
    pub child: WorkflowId,
    /// When the await was made.
    pub created: Time,
    /// When the parent is woken.
    #[serde(default)]
    pub join: Join,
    /// Names what `relaunch spawn` was asked for, and in which round of the parent, until it has answered its caller. If that process
    /// died (its lock is free), the next spawn with the same request continues this await.
    pub request: Option<Uuid>,
    /// The parent's tree was stopped: the stop of the child does not wake the parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patient: bool,
    /// The attempt of the child whose parking or stop the parent knows of. The parent waits on all the same: that end does not wake it.
    pub knows: Option<AttemptId>,
    /// How the child ended, once it has ended.
    pub ended: Option<Ended>,
    /// The round of the parent that reports the end. Once that round exists, the await is over.
    pub told_by: Option<QuestionId>,
}

impl Stored for Await {
    const LARGEST: u64 = 1 << 20;
}

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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
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
