//! The await document, `awaits/PARENT/CHILD.json`: a workflow waits for the end of another one, which it is to be told.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{QuestionId, WorkflowId};
use crate::time::Time;

/// The largest await, in bytes.
pub const MAX_AWAIT: u64 = 1 << 20;

/// The ends of a workflow, as its parent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Its agent ended its work by itself.
    Finished,
    /// It never began, or was given up.
    Failed,
    /// Its attempts are used up; somebody may still bring it back.
    Parked,
    /// Its question was taken back.
    Cancelled,
    /// Nobody answered its question in time.
    Expired,
    /// Somebody stopped it, or a limit did.
    Stopped,
}

impl End {
    /// The word for it in files and messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Stopped => "stopped",
        }
    }

    /// Whether somebody may still make it go on.
    #[must_use]
    pub fn may_change(self) -> bool {
        matches!(self, Self::Parked | Self::Stopped)
    }
}

/// How a workflow ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// Which.
    pub workflow_id: WorkflowId,
    /// How.
    pub end: End,
    /// The agent's final text, or why there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The file with the final text, where that is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Its parent may have seen this: it was about to be printed in the parent's own turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps_told: bool,
}

/// With how many of its children a parent is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Once every one has ended.
    #[default]
    All,
    /// As soon as this one has.
    Any,
}

/// One parent that waits for one child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Await {
    /// The version of the layout.
    #[serde(default)]
    pub schema_version: u32,
    /// Names this wait among all.
    pub await_id: Uuid,
    /// Who waits; equals the folder's name.
    pub parent: WorkflowId,
    /// For whom; equals the file's name.
    pub child: WorkflowId,
    /// Since when.
    pub created: Time,
    /// With whom it is woken.
    #[serde(default)]
    pub join: Join,
    /// What was asked for, in which round of the parent, while the spawn that made this has not answered. Where that spawn is
    /// dead (its lock is free), the next one that is asked for the same takes this over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Uuid>,
    /// The tree was stopped: that its child is stopped is no news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patient: bool,
    /// How the child ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The round of the parent that tells it. Where that exists, this wait is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_by: Option<QuestionId>,
}
