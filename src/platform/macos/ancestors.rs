//! The processes above this one.

use crate::platform::processes::Seen;

/// A process as it was when it was looked at.
pub(crate) struct Ancestor {
    seen: Seen,
    /// Its parent.
    pub(crate) parent: i32,
}

impl Ancestor {
    /// Looks at the process that has this pid now.
    pub(crate) fn at(pid: i32) -> Option<Self> {
        Seen::at(pid).map(|seen| Self { parent: seen.parent, seen })
    }

    /// Whether its program has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.seen.is_called(name)
    }

    /// Whether it belongs to a user other than root. Not known here: a process below an orphan is taken for a person's.
    pub(crate) fn is_an_ordinary_users(&self) -> bool {
        false
    }

    /// Whether its environment sets one of these variables to something; not if it cannot be read.
    pub(crate) fn has_any(&self, variables: &[&str]) -> bool {
        self.seen.environment().is_some_and(|all| variables.iter().any(|name| all.get(name).is_some_and(|value| !value.is_empty())))
    }
}
