//! Which workflows a watcher serves: all of them, or one tree.

use std::time::Duration;

use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::mailbox::family::lineage;

/// How often a watcher of one tree looks whether a watcher service came or went.
pub(super) const LOOK_FOR_SERVICE_EVERY: Duration = Duration::from_secs(5);

/// The workflows that a watcher serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// All: the service. It announces itself, notifies people, and writes the metrics.
    #[default]
    Mailbox,
    /// A workflow and everything below it, for a command that waits for this workflow. Other workflows are left alone.
    Tree(WorkflowId),
}

impl Scope {
    /// Whether a workflow is served. Reads the documents of the workflow and its ancestors.
    #[must_use]
    pub fn serves(&self, mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
        match self {
            Self::Mailbox => true,
            Self::Tree(root) => lineage::is_at_or_below(mailbox, root, workflow),
        }
    }

    /// Whether this is the service, and not a command that waits for one workflow.
    #[must_use]
    pub fn is_service(&self) -> bool {
        *self == Self::Mailbox
    }
}
