//! The processes of this machine: all of them from `sysctl`, a handle of one, orphans, and what happens to a child when its parent
//! dies. macOS gives orphans to launchd, and does not tell a child that its parent died.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid as UnixPid, Signal, kill_process};
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// A snapshot of a process.
pub struct Seen {
    pid: i32,
    /// Its parent.
    pub parent: i32,
    name: OsString,
    file: Option<PathBuf>,
    user: Option<u32>,
    arguments: Vec<String>,
    environment: Vec<OsString>,
}

impl Seen {
    /// Looks at the process that has this pid now. `None` if no process has it.
    pub fn at(pid: i32) -> Option<Self> {
        let pid = Pid::from_u32(u32::try_from(pid).ok()?);
        look(ProcessesToUpdate::Some(&[pid])).process(pid).and_then(Self::from_process)
    }

    fn from_process(process: &Process) -> Option<Self> {
        let number = |pid: Pid| i32::try_from(pid.as_u32()).ok();
        Some(Self {
            pid: number(process.pid())?,
            parent: number(process.parent()?)?,
            name: process.name().to_owned(),
            file: process.exe().map(Path::to_owned),
            user: process.user_id().map(|user| **user),
            arguments: process.cmd().iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            environment: process.environ().to_vec(),
        })
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// `None`: this system counts no ticks.
    pub fn began(&self) -> Option<u64> {
        None
    }

    /// True if the process's program has this name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// The path of the program's file, if the system tells it.
    pub fn file(&self) -> Option<PathBuf> {
        self.file.clone()
    }

    /// True if the process belongs to this user.
    pub fn is_of_this_user(&self) -> bool {
        self.user == Some(rustix::process::geteuid().as_raw())
    }

    /// The arguments of the process, its own name in front. Empty if they cannot be read.
    pub fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }

    /// The environment of the process. `None` if it cannot be read, as for a process of another user or a program that Apple signed.
    pub fn environment(&self) -> Option<Environment<'_>> {
        (!self.environment.is_empty()).then_some(Environment(&self.environment))
    }
}

/// The environment that a process had at its start.
pub struct Environment<'a>(&'a [OsString]);

impl Environment<'_> {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let value = |entry: &'_ OsString| entry.as_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::len);
        self.0.iter().find_map(|entry| value(entry).map(|length| OsStr::from_bytes(&entry.as_bytes()[entry.len() - length..])))
    }
}

/// Always true: macOS has no `/proc` that could be missing.
pub fn are_visible() -> bool {
    true
}

/// Lists all processes. Leaves out a process that ends while the list is read.
pub fn all() -> impl Iterator<Item = Seen> {
    look(ProcessesToUpdate::All).processes().values().filter_map(Seen::from_process).collect::<Vec<_>>().into_iter()
}

fn look(which: ProcessesToUpdate<'_>) -> System {
    let mut system = System::new();
    let what = ProcessRefreshKind::nothing()
        .with_environ(UpdateKind::Always)
        .with_cmd(UpdateKind::Always)
        .with_user(UpdateKind::Always)
        .with_exe(UpdateKind::Always);
    system.refresh_processes_specifics(which, true, what);
    system
}

/// Opens a handle of a process: a kqueue, which becomes readable when the process ends.
pub fn open_handle(pid: UnixPid) -> Option<OwnedFd> {
    let ident = usize::try_from(pid.as_raw_nonzero().get()).ok()?;
    let end = KEvent::new(ident, EventFilter::EVFILT_PROC, EvFlags::EV_ADD, FilterFlag::NOTE_EXIT, 0, 0);
    let queue = Kqueue::new().ok()?;
    queue.kevent(&[end], &mut [], None).ok()?;
    Some(queue.into())
}

/// Sends a Unix signal to the process. Does nothing if the process has ended.
pub fn signal(handle: &OwnedFd, pid: UnixPid, signal: Signal) {
    let mut end = [PollFd::new(handle, PollFlags::IN)];
    if poll(&mut end, Some(&Timespec::default())) == Ok(0) {
        let _ = kill_process(pid, signal);
    }
}

/// The terminal of a process. `None` if it has none. Only `ps` tells it.
pub fn terminal(pid: i32) -> Option<PathBuf> {
    let said = std::process::Command::new("ps").args(["-o", "tty=", "-p", &pid.to_string()]).output().ok()?;
    let name = String::from_utf8(said.stdout).ok()?;
    let name = name.trim();
    name.starts_with("tty").then(|| Path::new("/dev").join(name))
}

/// Gives this thread the lowest priority. The system has priorities of processes only, so this does nothing.
pub fn step_back() {}

/// Does nothing: launchd adopts orphans on macOS.
pub fn adopt_orphans() {}

/// Does nothing: launchd adopts orphans on macOS.
pub fn leave_orphans() {}

/// Always false: orphans never become children of this process.
pub fn adopts_orphans() -> bool {
    false
}

/// Does nothing: macOS has no such signal. The watcher ends what a dead supervisor left behind. Returns true, so that the agent is
/// started.
pub fn end_with_parent() -> bool {
    true
}

/// Always false: macOS does not tell whether a process was started with SIGHUP ignored.
pub fn ignores_hangup() -> bool {
    false
}

/// The signals that `nohup` and a shell's `&` make their commands ignore. macOS does not tell whether this process does.
pub fn ignored_signals() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
    vec![SIGHUP, SIGINT, SIGQUIT]
}
