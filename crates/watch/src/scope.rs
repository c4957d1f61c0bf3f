//! The mailbox that a watcher serves, how, and which of its workflows: all of them, or one tree.

use std::time::Duration;

use askbox_config::{Config, Metrics};
use askbox_mailbox::{Mailbox, WorkflowId, lineage};

/// How often a watcher of one tree checks if a watcher service came or went.
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
    /// True if a workflow is served. Reads the documents of the workflow and its ancestors.
    pub fn serves(&self, mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
        match self {
            Self::Mailbox => true,
            Self::Tree(root) => lineage::is_at_or_below(mailbox, root, workflow),
        }
    }

    /// True if this is the service, and not a command that waits for one workflow.
    pub fn is_service(&self) -> bool {
        *self == Self::Mailbox
    }
}

/// The mailbox that a watcher serves, and how. It stays the same as long as the watcher runs.
pub(super) struct Served {
    pub(super) mailbox: Mailbox,
    pub(super) config: Config,
    pub(super) scope: Scope,
}

impl Served {
    pub(super) fn new(mailbox: Mailbox, mut config: Config, scope: Scope) -> Self {
        if !scope.is_service() {
            // Only the service reports to people and to other programs.
            config.metrics = Metrics::default();
        }
        Self { mailbox, config, scope }
    }

    /// True if the watcher serves a workflow.
    pub(super) fn serves(&self, workflow: &WorkflowId) -> bool {
        self.scope.serves(&self.mailbox, workflow)
    }
}
