//! The processes of this machine, from `/proc`.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use procfs::process::Process;

/// A process as it was when it was looked at. Each holds a descriptor.
pub(crate) struct Seen {
    process: Process,
    /// Its parent.
    pub(crate) parent: i32,
}

impl Seen {
    /// Looks at the process that has this pid now.
    pub(crate) fn at(pid: i32) -> Option<Self> {
        Process::new(pid).ok().and_then(Self::of)
    }

    fn of(process: Process) -> Option<Self> {
        let parent = process.stat().ok()?.ppid;
        Some(Self { process, parent })
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> i32 {
        self.process.pid
    }

    /// The file of its program, as the kernel names it; one that is gone is marked.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.process.exe().ok()
    }

    /// Whether it belongs to this user.
    pub(crate) fn is_of_this_user(&self) -> bool {
        self.process.uid().is_ok_and(|user| user == rustix::process::geteuid().as_raw())
    }

    /// Its environment; `None` if that cannot be read, such as that of another user's process.
    pub(crate) fn environment(&self) -> Option<Environment> {
        self.process.environ().ok().map(Environment)
    }
}

/// The environment that a process was started with.
pub(crate) struct Environment(HashMap<OsString, OsString>);

impl Environment {
    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

/// All processes, one after the other. One that ends meanwhile is left out.
pub(crate) fn all() -> impl Iterator<Item = Seen> {
    procfs::process::all_processes().into_iter().flatten().flatten().filter_map(Seen::of)
}
