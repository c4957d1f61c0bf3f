//! The processes of this machine: all of them from `/proc`, a handle of one, orphans, and what happens to a child when its parent dies.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use procfs::process::Process;
use rustix::process::{
    Pid, PidfdFlags, Signal, child_subreaper, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, set_parent_process_death_signal,
};

/// A snapshot of a process. Each value holds a descriptor open.
pub struct Seen {
    process: Process,
    /// Its parent.
    pub parent: i32,
}

impl Seen {
    /// Looks at the process that has this pid now. `None` if no process has it.
    pub fn at(pid: i32) -> Option<Self> {
        Process::new(pid).ok().and_then(Self::from_process)
    }

    fn from_process(process: Process) -> Option<Self> {
        let parent = process.stat().ok()?.ppid;
        Some(Self { process, parent })
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// When the process began, in the kernel's ticks since the machine started. `None` if the system does not tell it.
    pub fn began(&self) -> Option<u64> {
        self.process.stat().ok().map(|stat| stat.starttime)
    }

    /// The path of the program's file, as the kernel names it. If the file is gone, the kernel adds ` (deleted)`.
    pub fn file(&self) -> Option<PathBuf> {
        self.process.exe().ok()
    }

    /// True if the process belongs to this user.
    pub fn is_of_this_user(&self) -> bool {
        self.process.uid().is_ok_and(|user| user == rustix::process::geteuid().as_raw())
    }

    /// The arguments of the process, its own name in front. Empty if they cannot be read.
    pub fn arguments(&self) -> Vec<String> {
        self.process.cmdline().unwrap_or_default()
    }

    /// The environment of the process. `None` if it cannot be read, as for a process of another user.
    pub fn environment(&self) -> Option<Environment> {
        self.process.environ().ok().map(Environment)
    }
}

/// The environment that a process had at its start.
pub struct Environment(HashMap<OsString, OsString>);

impl Environment {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

/// True if the system shows this process the processes of its own PID namespace under their own pids. False without `/proc`, and if
/// `/proc` is that of another PID namespace.
pub fn are_visible() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|pid| pid.as_os_str() == std::process::id().to_string().as_str())
}

/// Lists all processes. Leaves out a process that ends while the list is read.
pub fn all() -> impl Iterator<Item = Seen> {
    procfs::process::all_processes().into_iter().flatten().flatten().filter_map(Seen::from_process)
}

/// Opens a handle of a process: a pidfd, which becomes readable when the process ends.
pub fn open_handle(pid: Pid) -> Option<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Sends a Unix signal to the process of this handle. Does nothing if the process has ended.
pub fn signal(handle: &OwnedFd, _pid: Pid, signal: Signal) {
    let _ = pidfd_send_signal(handle, signal);
}

/// Gives this thread the lowest priority, so that the other threads of the process come first.
pub fn step_back() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}

/// The terminal of a process's standard input. `None` if that is something else, or if the process belongs to another user.
pub fn terminal(pid: i32) -> Option<PathBuf> {
    let input = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    input.starts_with("/dev").then_some(input)
}

/// Makes this process the parent of all orphans among its descendants, in place of init, from now on: `PR_SET_CHILD_SUBREAPER` of
/// prctl(2).
pub fn adopt_orphans() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Leaves orphans to init again from now on.
pub fn leave_orphans() {
    let _ = set_child_subreaper(None);
}

/// True if orphans become children of this process.
pub fn adopts_orphans() -> bool {
    child_subreaper().is_ok_and(|reaper| reaper.is_some())
}

/// Asks the kernel to send SIGTERM to this process when its parent dies: `PR_SET_PDEATHSIG` of prctl(2). Returns true if the kernel
/// accepted that. The signal is SIGTERM and not SIGKILL, so that an agent ends its tools.
pub fn end_with_parent() -> bool {
    set_parent_process_death_signal(Some(Signal::TERM)).is_ok()
}

/// True if this process ignores SIGHUP, as one that was started by `nohup` does.
pub fn ignores_hangup() -> bool {
    ignored_signals().contains(&signal_hook::consts::SIGHUP)
}

/// The signals that this process ignores, but for those of real time.
pub fn ignored_signals() -> Vec<i32> {
    let ignored = Process::myself().and_then(|own| own.status()).map_or(0, |status| status.sigign);
    (1..32).filter(|signal| ignored & (1 << (signal - 1)) != 0).collect()
}
