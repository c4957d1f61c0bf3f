//! The mailbox that a watcher serves, and how.

use crate::config::{Config, Metrics};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::watch::scope::Scope;

/// The mailbox that a watcher serves, and how. It stays the same as long as the watcher runs.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) mailbox: Mailbox,
    pub(super) config: Config,
    pub(super) scope: Scope,
}

impl Served {
    pub(super) fn new(mailbox: Mailbox, mut config: Config, scope: Scope) -> Self {
        if !scope.is_service() {
            // The service tells people and other programs, nobody else does.
            config.metrics = Metrics::default();
        }
        Self { mailbox, config, scope }
    }

    /// Whether the watcher is the service.
    pub(super) fn by_service(&self) -> bool {
        self.scope.is_service()
    }

    /// Whether the watcher serves a workflow.
    pub(super) fn serves(&self, workflow: &WorkflowId) -> bool {
        self.scope.serves(&self.mailbox, workflow)
    }
}
