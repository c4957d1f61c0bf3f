//! A handle of a process. A signal sent through it never reaches another process that got the same pid later.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::platform::system::processes;

/// One process. It may have ended, but the handle never means another process. On macOS this is weaker: see
/// [`weaker`](crate::platform::weaker).
#[derive(Debug)]
pub struct ProcessHandle {
    pid: i32,
    /// Readable once the process has ended.
    fd: OwnedFd,
}

impl ProcessHandle {
    /// Opens the process that has this pid now. Returns `None` if no process has it, or if the system has no descriptor left.
    pub fn open(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let fd = processes::open_handle(Pid::from_raw(pid)?)?;
        Some(Self { pid, fd })
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a Unix signal. Does nothing if the process has ended.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            processes::signal(&self.fd, pid, signal);
        }
    }

    /// True if the process has ended. A zombie counts as ended.
    pub fn is_gone(&self) -> bool {
        self.poll(&Timespec::default()).is_ok_and(|gone| gone)
    }

    /// Waits until the process has ended, at most for `limit`. Returns true if it has ended.
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

/// How often to look at a child without a handle.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until a child has ended, at most for `limit`. Returns how it ended, or `None` if it has not.
///
/// # Errors
/// The system's error, if it does not tell how the child ended.
pub fn status_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    if let Some(process) = ProcessHandle::open(child.id()) {
        process.wait_gone(limit);
    }
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
            ended => return Ok(ended),
        }
    }
}
