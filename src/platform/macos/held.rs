//! Holding a process by a kqueue that tells of its end.

use std::os::fd::OwnedFd;

use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// A descriptor that becomes readable at the end of the process.
pub(crate) fn open(pid: Pid) -> Option<OwnedFd> {
    let ident = usize::try_from(pid.as_raw_nonzero().get()).ok()?;
    let end = KEvent::new(ident, EventFilter::EVFILT_PROC, EvFlags::EV_ADD, FilterFlag::NOTE_EXIT, 0, 0);
    let queue = Kqueue::new().ok()?;
    queue.kevent(&[end], &mut [], None).ok()?;
    Some(queue.into())
}

/// Sends a Unix signal to the process, if it has not ended.
pub(crate) fn signal(held: &OwnedFd, pid: Pid, signal: Signal) {
    let mut end = [PollFd::new(held, PollFlags::IN)];
    if poll(&mut end, Some(&Timespec::default())) == Ok(0) {
        let _ = kill_process(pid, signal);
    }
}
