//! SIGTERM, SIGINT and SIGHUP to a supervisor stop its run through the ladder, so that the agent's session is kept.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::run::process::poll_thread::{self, PollSource, UnixSignals};
use crate::run::supervise::ladder::Request;
use crate::run::supervise::run_message::Stopper;

/// Turns a Unix signal into a request to stop. The second signal skips the wait for the tool call in flight.
struct StopSignals {
    caught: UnixSignals,
    stopper: Stopper,
    grace: Duration,
    /// Unix signals before this time are ignored: they were meant for the process group that the supervisor was started in.
    ignore_until: Option<Instant>,
    had_one: bool,
}

/// Catches the signals from now on. `None` if they cannot be caught.
#[must_use]
pub fn catch(stopper: Stopper, grace: Duration, ignore_until: Option<Instant>) -> Option<Box<dyn PollSource>> {
    let caught = poll_thread::catch_unix_signals(&[SIGTERM, SIGINT, SIGHUP]).ok()?;
    Some(Box::new(StopSignals { caught, stopper, grace, ignore_until, had_one: false }))
}

impl PollSource for StopSignals {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.caught.get_read().as_fd()]
    }

    fn ready(&mut self) -> bool {
        let counts = self.ignore_until.is_none_or(|t| Instant::now() >= t);
        for signal in self.caught.pending().filter(|_| counts) {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            let now = std::mem::replace(&mut self.had_one, true);
            self.stopper.stop(Request { why: format!("the supervisor got {name}"), grace: self.grace, report: false, now });
        }
        true
    }
}
