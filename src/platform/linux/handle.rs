//! A process held by a pidfd, so that a signal never reaches another process that got the same pid later.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process. It may have ended, but its handle never means another one.
#[derive(Debug)]
pub struct ProcessHandle {
    pid: i32,
    fd: OwnedFd,
}

impl ProcessHandle {
    /// The process that has this pid now; `None` if there is none, or if no pidfd can be opened.
    #[must_use]
    pub fn open(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let fd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, fd })
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a Unix signal. Does nothing if the process has ended.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.fd, signal);
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
