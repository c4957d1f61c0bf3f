//! Orphans, and what happens to a child when its parent dies.

use rustix::process::{Signal, child_subreaper, getpid, set_child_subreaper, set_parent_process_death_signal};

/// From now on, orphans among this process's descendants become its own children instead of init's.
pub(crate) fn adopt_orphans() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// From now on, orphans are init's again.
pub(crate) fn leave_orphans() {
    let _ = set_child_subreaper(None);
}

/// Whether orphans become children of this process.
pub(crate) fn adopts_orphans() -> bool {
    child_subreaper().is_ok_and(|reaper| reaper.is_some())
}

/// Asks the kernel for SIGTERM to this process when its parent dies. SIGTERM and not SIGKILL, so that an agent ends its tools. Returns whether that
/// worked.
pub(crate) fn end_with_parent() -> bool {
    set_parent_process_death_signal(Some(Signal::TERM)).is_ok()
}

/// Whether this process was started with SIGHUP ignored.
pub(crate) fn ignores_hangup() -> bool {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & (1 << (signal_hook::consts::SIGHUP - 1)) != 0)
}
