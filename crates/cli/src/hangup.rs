//! Noticing that the reader of our standard output has gone away, even while nothing is written; or the other end of another file.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use askbox_run::process::poll_thread::{PollSource, PollThread, to_hang_up};

/// True if the reader of standard output has gone away.
pub fn is_gone() -> bool {
    #[allow(clippy::disallowed_methods, reason = "nothing is written to it")]
    let out = std::io::stdout();
    let mut fds = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Waits until the other end of this file is gone. False if that cannot be noticed.
pub fn wait(file: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&file, PollFlags::empty())];
    while !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
        if poll(&mut fds, None).is_err_and(|e| e != Errno::INTR) {
            return false;
        }
    }
    true
}

/// A source that calls `gone` once when the reader of standard output closes the pipe.
pub fn source(gone: impl FnMut() + Send + 'static) -> Box<dyn PollSource> {
    #[allow(clippy::disallowed_methods, reason = "nothing is written to it")]
    to_hang_up(std::io::stdout(), gone)
}

/// Calls `gone` from another thread when the reader of standard output closes the pipe. `None` if no pipe could be made.
pub fn on_hangup(gone: impl FnMut() + Send + 'static) -> Option<PollThread> {
    let mut poll_thread = PollThread::new().ok()?;
    poll_thread.start(vec![source(gone)]);
    Some(poll_thread)
}
