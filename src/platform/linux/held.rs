//! Holding a process by a pidfd.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A descriptor that becomes readable at the end of the process.
pub(crate) fn open(pid: Pid) -> Option<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Sends a Unix signal to the process of this descriptor, if it has not ended.
pub(crate) fn signal(held: &OwnedFd, _pid: Pid, signal: Signal) {
    let _ = pidfd_send_signal(held, signal);
}
