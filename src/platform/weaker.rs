//! The promises that a system keeps less well than Linux does, each with its reason and what a person can do.

use crate::platform::system;

/// A promise that is weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Weaker {
    /// What is weaker, in a word for programs.
    pub name: &'static str,
    /// What may happen, and why.
    pub what: &'static str,
    /// What to do about it.
    pub todo: &'static str,
}

/// Those of macOS.
pub const ON_MACOS: [Weaker; 5] = [
    Weaker {
        name: "parent_death",
        what: "an agent goes on if its supervisor is killed: macOS sends no signal to the children of a process that dies",
        todo: "keep a watcher running; it ends what is left of such a run before it starts the next attempt",
    },
    Weaker {
        name: "orphans",
        what: "a process that leaves its parent and clears its environment is not found as one of the run: macOS has no process that adopts orphans, and hides the environment of programs that Apple signed",
        todo: "let agents end what they start; `relaunch stop` ends all others",
    },
    Weaker {
        name: "reused_pid",
        what: "a signal could reach another process that got the same pid in the moment between the look and the signal: macOS has no handle for a process",
        todo: "nothing; macOS gives pids in rising order, so this needs a hundred thousand new processes within a millisecond",
    },
    Weaker {
        name: "folder",
        what: "an agent starts in the folder that has the checked path at the start: macOS cannot start a process in a folder that is held open",
        todo: "keep the folders in relaunch.cwd_roots writable for yourself alone",
    },
    Weaker {
        name: "hangup",
        what: "`nohup relaunch watch` ends with its terminal: macOS does not tell which signals a process was started to ignore",
        todo: "start the watcher by launchd, or in tmux",
    },
];

/// Those of the system that this program runs on.
#[must_use]
pub fn here() -> &'static [Weaker] {
    system::WEAKER
}

/// What a person is told of them; empty where there are none.
#[must_use]
pub fn words(weaker: &[Weaker]) -> String {
    let line = |w: &Weaker| format!("  {}: {} ({})\n", w.name, w.what, w.todo);
    match weaker {
        [] => String::new(),
        _ => format!("On this system askbox promises less than on Linux:\n{}", weaker.iter().map(line).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_what_macos_promises_less_and_nothing_on_linux() {
        assert_eq!(words(&[]), "");
        let said = words(&ON_MACOS);
        assert_eq!(said.lines().count(), 1 + ON_MACOS.len());
        assert!(said.contains("\n  parent_death: an agent goes on if its supervisor is killed"), "{said}");
        assert!(cfg!(target_os = "macos") || here().is_empty());
    }
}
