//! The processes of a run. An agent's tools have process groups and sessions of their own, so a group is not enough: they are
//! found by the `ASKBOX_RUN` that they inherit, read from `/proc`. Each is held by a pidfd and looked at once more before it
//! is signalled, so that a reused pid is never hit.
//!
//! # Limitations
//! Linux only. A process that clears its environment is found only while its parent lives.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};
use signal_hook::consts::SIGCHLD;

use crate::run::process::lookout::{self, Signals, Source};

/// How long a tree gets after SIGTERM: the agent needs up to three seconds to take its tools down.
pub const TERM_GRACE: Duration = Duration::from_secs(5);

/// One process, held so that its pid cannot be reused under us.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    fd: OwnedFd,
}

impl Process {
    /// Takes hold of a process.
    #[must_use]
    pub fn hold(pid: u32) -> Option<Self> {
        let pid = i32::try_from(pid).ok()?;
        let fd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        Some(Self { pid, fd })
    }

    /// Signals it; a process that is gone is fine.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.fd, signal);
    }

    /// Whether it is gone (or a zombie that nobody has waited for).
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let mut fds = [rustix::event::PollFd::new(&self.fd, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&rustix::event::Timespec::default())).is_ok_and(|n| n > 0)
    }

    /// Waits until it is gone.
    #[must_use]
    pub fn wait_gone(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(timeout) = left.try_into() else { return self.is_gone() };
            let mut fds = [rustix::event::PollFd::new(&self.fd, rustix::event::PollFlags::IN)];
            match rustix::event::poll(&mut fds, Some(&timeout)) {
                Ok(n) => return n > 0,
                Err(Errno::INTR) => {}
                Err(_) => return self.is_gone(),
            }
        }
    }
}

/// Makes the orphans of this process's descendants its own children from here on, instead of init's: then having no child
/// means having no descendant. For a process whose only children are the agent it supervises and what that leaves behind.
pub fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

fn adopts() -> bool {
    rustix::process::child_subreaper().is_ok_and(|of| of.is_some())
}

/// Waits for the agent's end, and tells it in words. The adopted that end meanwhile are waited for too: nobody else would.
pub(crate) struct Waiter<F> {
    agent: Child,
    process: Arc<Process>,
    /// Of children; none where nobody is adopted.
    signals: Option<Signals>,
    ended: F,
}

impl<F: FnMut(String) + Send> Waiter<F> {
    pub(crate) fn new(agent: Child, process: Arc<Process>, ended: F) -> Self {
        // The agent's own end is not told by a signal alone: whoever started us may have blocked it.
        let signals = adopts().then(|| lookout::signals(&[SIGCHLD])).and_then(Result::ok);
        Self { agent, process, signals, ended }
    }
}

impl<F: FnMut(String) + Send> Source for Waiter<F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = vec![self.process.fd.as_fd()];
        fds.extend(self.signals.iter().map(|s| s.get_read().as_fd()));
        fds
    }

    fn ready(&mut self) -> bool {
        if let Some(signals) = &mut self.signals {
            drop(signals.pending());
            loop {
                match rustix::process::wait(WaitOptions::NOHANG) {
                    Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(self.agent.id()) => {
                        (self.ended)(ExitStatus::from_raw(status.as_raw()).to_string());
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
            Ok(Some(status)) => (self.ended)(status.to_string()),
            Err(e) => (self.ended)(e.to_string()),
        }
        false
    }
}

/// [`Waiter`] where the system has no pidfds, or lends none: waits in a thread of its own.
pub(crate) fn wait_aside(mut agent: Child, ended: impl FnOnce(String) + Send + 'static) {
    std::thread::spawn(move || {
        while adopts() {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if u32::try_from(pid.as_raw_nonzero().get()) == Ok(agent.id()) => {
                    return ended(ExitStatus::from_raw(status.as_raw()).to_string());
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        ended(agent.wait().map_or_else(|e| e.to_string(), |status| status.to_string()));
    });
}

/// Whether it is certain that no descendant lives once the agent has ended, and without a look at every process there is.
pub(crate) fn none_is_left() -> bool {
    while adopts() {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(e) => return e == Errno::CHILD,
        }
    }
    false
}

/// All processes that carry one of these `ASKBOX_RUN` values, and their descendants; never ourselves.
#[must_use]
pub fn of_run(is_ours: impl Fn(&str) -> bool) -> Vec<Process> {
    let mut parents: HashMap<i32, i32> = HashMap::new();
    let mut found: HashSet<i32> = HashSet::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
        if let Some(parent) = parent_of(pid) {
            parents.insert(pid, parent);
        }
        if carries(pid, &is_ours) {
            found.insert(pid);
        }
    }
    // Children whose environment was cleared, as long as their parent is known.
    loop {
        let more: Vec<i32> =
            parents.iter().filter(|(pid, parent)| found.contains(parent) && !found.contains(pid)).map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    let me = std::process::id();
    let held = found.into_iter().filter_map(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != me).filter_map(Process::hold);
    // Held now; is it still the one that was found?
    held.filter(|p| carries(p.pid, &is_ours) || parents.get(&p.pid).copied() == parent_of(p.pid)).filter(|p| !p.is_gone()).collect()
}

fn carries(pid: i32, is_ours: &impl Fn(&str) -> bool) -> bool {
    let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    environ.split(|b| *b == 0).filter_map(|v| v.strip_prefix(b"ASKBOX_RUN=")).any(|v| std::str::from_utf8(v).is_ok_and(is_ours))
}

/// The fourth field of `/proc/PID/stat`, after the name in parentheses, which may hold anything.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Waits for a run that was told to end by the death of its supervisor: an agent needs a while to take its tools down and to
/// write its transcript, and a second SIGTERM cuts that short.
pub fn let_go(is_ours: impl Fn(&str) -> bool, limit: Duration) {
    let deadline = Instant::now() + limit;
    for process in of_run(&is_ours) {
        let _ = process.wait_gone(deadline.saturating_duration_since(Instant::now()));
    }
}

/// Makes sure that nothing of a run lives: SIGTERM to all, a grace, then everything is frozen (so that nobody starts
/// another one meanwhile) and killed, until a look finds none. Returns how many there were.
pub fn end(is_ours: impl Fn(&str) -> bool, grace: Duration) -> Result<usize, usize> {
    let first = of_run(&is_ours);
    let count = first.len();
    if count == 0 {
        return Ok(0);
    }
    first.iter().for_each(|p| p.signal(Signal::TERM));
    let deadline = Instant::now() + grace;
    for process in &first {
        let _ = process.wait_gone(deadline.saturating_duration_since(Instant::now()));
    }
    for _ in 0..50 {
        let left = of_run(&is_ours);
        if left.is_empty() {
            return Ok(count);
        }
        left.iter().for_each(|p| p.signal(Signal::STOP));
        left.iter().for_each(|p| p.signal(Signal::KILL));
        for process in &left {
            let _ = process.wait_gone(Duration::from_millis(500));
        }
    }
    // Unkillable: stuck in the kernel.
    Err(of_run(&is_ours).len())
}
