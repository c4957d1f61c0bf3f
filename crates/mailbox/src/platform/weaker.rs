//! The promises that a system keeps less well than Linux does. Each comes with its reason and with what a person can do.

use crate::platform::system;

/// A promise that a system keeps less well than Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Weaker {
    /// The name of the promise, as one word for programs: `parent_death`.
    pub name: &'static str,
    /// The possible consequence and its reason, as a sentence for people.
    pub what: &'static str,
    /// A remedy, as a sentence for people.
    pub todo: &'static str,
}

/// The promises that macOS keeps less well.
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

/// Returns the weaker promises of the current system. Empty on Linux.
pub fn here() -> &'static [Weaker] {
    system::WEAKER
}

/// Returns a text for people that lists the weaker promises, one a line under a heading. Empty if the list is empty.
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
    fn people_are_told_what_macos_promises_less() {
        assert_eq!(words(&[]), "");
        let said = words(&ON_MACOS);
        assert_eq!(said.lines().count(), 1 + ON_MACOS.len());
        assert!(said.contains("\n  parent_death: an agent goes on if its supervisor is killed"), "{said}");
        assert!(cfg!(target_os = "macos") || here().is_empty());
    }
}
