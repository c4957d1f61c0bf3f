//! The end of the agent's process, and of the processes that it leaves behind as orphans.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;
use rustix::process::WaitOptions;
use signal_hook::consts::SIGCHLD;

use crate::platform::{ProcessHandle, kinship, processes};
use crate::run::process::poll_thread::{PollSource, UnixSignals, catch_unix_signals};
use crate::thread::Waiting;

/// The children that this process had before it began to adopt orphans; empty until then.
static EARLIER_CHILDREN: OnceLock<HashSet<i32>> = OnceLock::new();

/// From now on, orphans among this process's descendants become its own children instead of init's. Then a process without children
/// has no descendants either, and every child is a process of the run: the agent, or what it has left behind. Only for a process that
/// starts nothing else but supervisors of other runs.
pub fn adopt_orphans() {
    // A shell may have started processes in the background and then become this program.
    EARLIER_CHILDREN.get_or_init(|| {
        let own = i32::try_from(std::process::id()).ok();
        processes::all().filter(|process| Some(process.parent) == own).map(|process| process.pid()).collect()
    });
    kinship::adopt_orphans();
}

/// From now on, orphans are init's again. For a process whose own run has ended, and which starts other supervisors.
pub fn leave_orphans() {
    kinship::leave_orphans();
}

/// Whether this process, having called [`adopt_orphans`], knows a child of its own by that to belong to the run that it supervises.
pub(super) fn is_of_the_run(child: i32) -> bool {
    EARLIER_CHILDREN.get().is_some_and(|earlier| !earlier.contains(&child))
}

/// Waits for the agent's exit and reports the exit status in words. Also reaps adopted orphans, which no other code waits for.
pub(crate) struct AgentExit<F> {
    agent: Child,
    process: Arc<ProcessHandle>,
    /// SIGCHLD; `None` if this process adopts no orphans.
    child_signals: Option<UnixSignals>,
    report: F,
}

impl<F: FnMut(String) + Send> AgentExit<F> {
    pub(crate) fn new(agent: Child, process: Arc<ProcessHandle>, report: F) -> Self {
        // SIGCHLD alone would not do for the agent: the parent of this process may have blocked it.
        let child_signals = kinship::adopts_orphans().then(|| catch_unix_signals(&[SIGCHLD])).and_then(Result::ok);
        Self { agent, process, child_signals, report }
    }
}

impl<F: FnMut(String) + Send> PollSource for AgentExit<F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = vec![self.process.as_fd()];
        fds.extend(self.child_signals.iter().map(|s| s.get_read().as_fd()));
        fds
    }

    fn ready(&mut self) -> bool {
        if let Some(signals) = &mut self.child_signals {
            drop(signals.pending());
            loop {
                match rustix::process::wait(WaitOptions::NOHANG) {
                    Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(self.agent.id()) => {
                        (self.report)(ExitStatus::from_raw(status.as_raw()).to_string());
                        return false;
                    }
                    Ok(Some(_)) | Err(Errno::INTR) => {}
                    Ok(None) => return true,
                    Err(_) => break,
                }
            }
        }
        match self.agent.try_wait() {
            Ok(None) => return true,
            Ok(Some(status)) => (self.report)(status.to_string()),
            Err(e) => (self.report)(e.to_string()),
        }
        false
    }
}

/// [`AgentExit`] without a pidfd, which could not be opened: waits on a thread of its own.
pub(crate) fn wait_on(thread: Waiting, mut agent: Child, report: impl FnOnce(String) + Send + 'static) {
    thread.run(move || {
        while kinship::adopts_orphans() {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(agent.id()) => {
                    return report(ExitStatus::from_raw(status.as_raw()).to_string());
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        report(agent.wait().map_or_else(|e| e.to_string(), |status| status.to_string()));
    });
}

/// Whether it is certain that no descendant of the ended agent lives. Cheap: looks at the children of this process only.
pub(crate) fn no_descendant_is_left() -> bool {
    while kinship::adopts_orphans() {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(e) => return e == Errno::CHILD,
        }
    }
    false
}
