//! A process that is held, so that a signal does not reach another process that got the same pid later.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::platform::system::held;

/// One process. It may have ended, but its handle never means another one (on macOS: see [`weaker`](crate::platform::weaker)).
#[derive(Debug)]
pub struct ProcessHandle {
    pid: i32,
    /// Readable once the process has ended.
    fd: OwnedFd,
}

impl ProcessHandle {
    /// The process that has this pid now; `None` if there is none, or if the system has no descriptor to spare.
    #[must_use]
    pub fn open(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let fd = held::open(Pid::from_raw(pid)?)?;
        Some(Self { pid, fd })
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a Unix signal. Does nothing if the process has ended.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            held::signal(&self.fd, pid, signal);
        }
    }

    /// Whether the process has ended. A zombie has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.poll(&Timespec::default()).is_ok_and(|gone| gone)
    }

    /// Waits until the process has ended, at most for `limit`. Returns whether it has.
    #[must_use]
    pub fn wait_gone(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(timeout) = left.try_into() else { return self.is_gone() };
            match self.poll(&timeout) {
                Ok(gone) => return gone,
                Err(Errno::INTR) => {}
                Err(_) => return self.is_gone(),
            }
        }
    }

    fn poll(&self, timeout: &Timespec) -> Result<bool, Errno> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        poll(&mut fds, Some(timeout)).map(|ready| ready > 0)
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
