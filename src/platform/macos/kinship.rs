//! Orphans, and what happens to a child when its parent dies. macOS gives orphans to launchd, and tells a child nothing.

/// Does nothing: orphans stay launchd's.
pub(crate) fn adopt_orphans() {}

/// Does nothing: orphans are launchd's.
pub(crate) fn leave_orphans() {}

/// Whether orphans become children of this process.
pub(crate) fn adopts_orphans() -> bool {
    false
}

/// There is nothing to ask for: the watcher ends what a dead supervisor left behind. Returns true, so that the agent is started.
pub(crate) fn end_with_parent() -> bool {
    true
}

/// Whether this process was started with SIGHUP ignored: macOS does not tell.
pub(crate) fn ignores_hangup() -> bool {
    false
}
