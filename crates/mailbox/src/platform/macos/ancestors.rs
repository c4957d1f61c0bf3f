//! The processes above this one.

use crate::platform::processes::Seen;

/// A snapshot of a process.
pub struct Ancestor {
    seen: Seen,
    /// Its parent.
    pub parent: i32,
}

impl Ancestor {
    /// Looks at the process that has this pid now. `None` if no process has it.
    pub fn at(pid: i32) -> Option<Self> {
        Seen::at(pid).map(|seen| Self { parent: seen.parent, seen })
    }

    /// True if the process's program has this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.seen.is_called(name)
    }

    /// True if the process's environment sets one of these variables to a value that is not empty. False if the environment cannot
    /// be read.
    pub fn has_any(&self, variables: &[&str]) -> bool {
        self.seen.environment().is_some_and(|all| variables.iter().any(|name| all.get(name).is_some_and(|value| !value.is_empty())))
    }
}

/// Returns the process that leads the session of this process; 0 if it is out of sight.
pub fn session_leader() -> i32 {
    rustix::process::getsid(None).map_or(0, |leader| leader.as_raw_nonzero().get())
}

/// Always true: macOS has no PID namespaces.
pub fn namespace_is_known() -> bool {
    true
}

/// Does nothing: the name of a process is that of its program on macOS.
pub fn take_name(_name: &str) {}
