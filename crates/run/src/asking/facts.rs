//! The programs whose dialogs are questions of the mailbox, and how they differ.

use askbox_mailbox::Question;

/// What is known of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name in a question.
    pub name: &'static str,
    /// The name of askbox's process beside its dialogs, in the questions that this process ends.
    pub by: &'static str,
    /// Who that process is.
    beside: &'static str,
    /// The reason of a dialog's end if another reply was first, and nobody knows with what.
    pub answered: &'static str,
    /// True if a session that has not got its answer puts the same request once more, to a new process beside it. The receipt of a program
    /// that does not is in the session's transcript.
    pub asks_again: bool,
}

/// Claude Code, whose hook waits beside a dialog.
pub const CLAUDE: Facts =
    Facts { name: "claude", by: "askbox hook", beside: "hook", answered: "it was answered at its terminal", asks_again: false };
/// Codex, whose daemon a watcher is connected to.
pub const CODEX: Facts = Facts {
    name: "codex",
    by: "relaunch watch",
    beside: "watcher that waited",
    answered: "it was answered at its terminal, or by another client of codex",
    asks_again: true,
};
/// opencode, whose plugin starts a process.
pub const OPENCODE: Facts = Facts {
    name: "opencode",
    by: "askbox live opencode",
    beside: "plugin",
    answered: "it was answered at its terminal, or by another client of opencode",
    asks_again: true,
};
/// Copilot, whose extension starts a process. An experiment: Copilot's extensions are one, too.
pub const COPILOT: Facts = Facts {
    name: "copilot",
    by: "askbox live copilot",
    beside: "plugin",
    answered: "it was answered at its terminal, or by another extension of Copilot",
    asks_again: true,
};
/// Qwen, which a process of askbox starts. An experiment.
pub const QWEN: Facts =
    Facts { name: "qwen", by: "askbox live qwen", beside: "process", answered: "it was answered at its terminal", asks_again: true };

/// All of them.
pub const ALL: [&Facts; 5] = [&CLAUDE, &CODEX, &OPENCODE, &COPILOT, &QWEN];

impl Facts {
    /// The program of the session that asks a live question. A name that is not known is Claude Code's: anybody may have written it.
    pub fn of(question: &Question) -> &'static Self {
        let name = question.asked.live.as_ref().map(|live| live.program.as_str());
        ALL.into_iter().find(|facts| Some(facts.name) == name).unwrap_or(&CLAUDE)
    }

    /// The reason why a question is withdrawn if nobody waits beside its dialog any more.
    pub fn is_gone(&self) -> String {
        format!("the {} beside its dialog is gone: the session has ended, or still shows its dialog", self.beside)
    }
}
