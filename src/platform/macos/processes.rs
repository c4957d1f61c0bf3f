//! The processes of this machine, from `sysctl`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// A process as it was when it was looked at.
pub(crate) struct Seen {
    pid: i32,
    /// Its parent.
    pub(crate) parent: i32,
    name: OsString,
    file: Option<PathBuf>,
    user: Option<u32>,
    environment: Vec<OsString>,
}

impl Seen {
    /// Looks at the process that has this pid now.
    pub(crate) fn at(pid: i32) -> Option<Self> {
        let pid = Pid::from_u32(u32::try_from(pid).ok()?);
        look(ProcessesToUpdate::Some(&[pid])).process(pid).and_then(Self::of)
    }

    fn of(process: &Process) -> Option<Self> {
        let number = |pid: Pid| i32::try_from(pid.as_u32()).ok();
        Some(Self {
            pid: number(process.pid())?,
            parent: number(process.parent()?)?,
            name: process.name().to_owned(),
            file: process.exe().map(Path::to_owned),
            user: process.user_id().map(|user| **user),
            environment: process.environ().to_vec(),
        })
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether its program has this name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// The file of its program.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.file.clone()
    }

    /// Whether it belongs to this user.
    pub(crate) fn is_of_this_user(&self) -> bool {
        self.user == Some(rustix::process::geteuid().as_raw())
    }

    /// Its environment; `None` if that cannot be read, such as that of another user's process, or of a program that Apple signed.
    pub(crate) fn environment(&self) -> Option<Environment<'_>> {
        (!self.environment.is_empty()).then_some(Environment(&self.environment))
    }
}

/// The environment that a process was started with.
pub(crate) struct Environment<'a>(&'a [OsString]);

impl Environment<'_> {
    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        let value = |entry: &'_ OsString| entry.as_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::len);
        self.0.iter().find_map(|entry| value(entry).map(|length| OsStr::from_bytes(&entry.as_bytes()[entry.len() - length..])))
    }
}

/// All processes. One that ends meanwhile is left out.
pub(crate) fn all() -> impl Iterator<Item = Seen> {
    look(ProcessesToUpdate::All).processes().values().filter_map(Seen::of).collect::<Vec<_>>().into_iter()
}

fn look(which: ProcessesToUpdate<'_>) -> System {
    let mut system = System::new();
    let what = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always).with_user(UpdateKind::Always).with_exe(UpdateKind::Always);
    system.refresh_processes_specifics(which, true, what);
    system
}
