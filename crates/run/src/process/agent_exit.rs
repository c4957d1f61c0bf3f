//! The end of the agent's process, and of the processes that it leaves behind as orphans.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, OnceLock};

use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, WaitOptions};
use signal_hook::consts::SIGCHLD;

use crate::process::poll_thread::{PollSource, UnixSignals, catch_unix_signals};
use askbox_agent::program::Exit;
use askbox_mailbox::platform::{ProcessHandle, ancestry, processes};
use askbox_mailbox::thread::{self, ReadyThread};

/// The children that this process had before it began to adopt orphans; empty until then.
static EARLIER_CHILDREN: OnceLock<HashSet<i32>> = OnceLock::new();

/// Makes orphans among this process's descendants its own children from now on, instead of init's. A process without children then has
/// no descendants either, and every child is a process of the run: the agent, or what it has left behind. Only for a process that
/// starts nothing but supervisors of other runs.
pub fn adopt_orphans() {
    // A shell may have started processes in the background and then become this program. That is rare, so the processes of the machine
    // are looked at only if there is a child at all: there may be thousands.
    EARLIER_CHILDREN.get_or_init(|| {
        // A child that has ended counts as well. None is reaped.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(rustix::process::waitid(WaitId::All, look), Err(Errno::CHILD)) {
            return HashSet::new();
        }
        let own = i32::try_from(std::process::id()).ok();
        processes::all().filter(|process| Some(process.parent) == own).map(|process| process.pid()).collect()
    });
    processes::adopt_orphans();
    ancestry::mark_supervisor();
}

/// Leaves orphans to init again from now on. For a process whose own run has ended, and that starts other supervisors.
pub fn leave_orphans() {
    processes::leave_orphans();
}

/// True if this child must belong to the run that this process supervises, because this process has called [`adopt_orphans`] and the
/// child is a later one.
pub(super) fn is_of_the_run(child: i32) -> bool {
    EARLIER_CHILDREN.get().is_some_and(|earlier| !earlier.contains(&child))
}

/// The children whose status somebody else awaits, and the status of those that were reaped here.
static AWAITED: Mutex<BTreeMap<u32, Option<ExitStatus>>> = Mutex::new(BTreeMap::new());

/// Starts a child whose exit [`awaited`] tells, whoever reaps it.
///
/// # Errors
/// The error of the system.
pub fn start_awaited(command: &mut Command) -> std::io::Result<Child> {
    // Held until the child is known: it may end at once.
    let mut awaited = thread::locked(&AWAITED);
    let child = command.spawn()?;
    awaited.insert(child.id(), None);
    Ok(child)
}

/// Waits for a child of [`start_awaited`].
///
/// # Errors
/// The error of the system.
pub fn awaited(child: &mut Child) -> std::io::Result<ExitStatus> {
    let waited = child.wait();
    loop {
        let mut awaited = thread::locked(&AWAITED);
        let is_missing = waited.as_ref().is_err_and(|e| Errno::from_io_error(e) == Some(Errno::CHILD));
        match awaited.get(&child.id()) {
            // Another thread has reaped it, and notes its status.
            Some(None) if is_missing => drop(awaited),
            _ => return awaited.remove(&child.id()).flatten().map_or(waited, Ok),
        }
        std::thread::yield_now();
    }
}

/// Reaps a child that has ended.
fn reap(how: WaitOptions) -> Result<Option<(u32, ExitStatus)>, Errno> {
    let Some((pid, status)) = rustix::process::wait(how)? else { return Ok(None) };
    let (pid, status) = (pid.as_raw_nonzero().get().unsigned_abs(), ExitStatus::from_raw(status.as_raw()));
    if let Some(told) = thread::locked(&AWAITED).get_mut(&pid) {
        *told = Some(status);
    }
    Ok(Some((pid, status)))
}

/// Waits for the agent's exit and reports it. Also reaps adopted orphans, because no other code waits for them.
pub(crate) struct AgentExit<F> {
    agent: Child,
    process: Arc<ProcessHandle>,
    /// SIGCHLD; `None` if this process adopts no orphans.
    child_signals: Option<UnixSignals>,
    report: F,
}

impl<F: FnMut(Exit) + Send> AgentExit<F> {
    pub(crate) fn new(agent: Child, process: Arc<ProcessHandle>, report: F) -> Self {
        // SIGCHLD alone is not enough for the agent: the parent of this process may have blocked that signal.
        let child_signals = processes::adopts_orphans().then(|| catch_unix_signals(&[SIGCHLD])).and_then(Result::ok);
        Self { agent, process, child_signals, report }
    }
}

impl<F: FnMut(Exit) + Send> PollSource for AgentExit<F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = vec![self.process.as_fd()];
        fds.extend(self.child_signals.iter().map(|s| s.get_read().as_fd()));
        fds
    }

    fn ready(&mut self) -> bool {
        if let Some(signals) = &mut self.child_signals {
            drop(signals.pending());
            loop {
                match reap(WaitOptions::NOHANG) {
                    Ok(Some((pid, status))) if pid == self.agent.id() => {
                        (self.report)(Ok(status).into());
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
            Ok(Some(status)) => (self.report)(Ok(status).into()),
            Err(e) => (self.report)(Err(e).into()),
        }
        false
    }
}

/// Reports the exit if no pidfd could be opened: waits on a thread of its own.
pub fn wait_on(thread: ReadyThread, mut agent: Child, report: impl FnOnce(Exit) + Send + 'static) {
    thread.run(move || {
        while processes::adopts_orphans() {
            match reap(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == agent.id() => return report(Ok(status).into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        report(agent.wait().into());
    });
}

/// True if it is certain that no descendant of the ended agent lives. Cheap: looks at the children of this process only.
pub fn no_descendant_is_left() -> bool {
    while processes::adopts_orphans() {
        match reap(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(e) => return e == Errno::CHILD,
        }
    }
    false
}
