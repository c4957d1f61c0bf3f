//! The programs whose dialogs are questions of the mailbox, and how they differ.

use crate::documents::question::Question;

/// What is known of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name in a question.
    pub name: &'static str,
    /// The name of askbox's process beside its dialogs, in the questions that this process ends.
    pub by: &'static str,
    /// The words for that process.
    beside: &'static str,
    /// The reason of a dialog's end if another reply was first, and nobody knows with what.
    pub answered: &'static str,
    /// The tools whose model reads a person's remark beside an allowance: the hook behind the call tells it. The reason of a refusal reaches
    /// each model.
    pub(crate) reads_remarks: &'static [&'static str],
    /// True if a session that has not got its answer puts the same request once more, to a new process beside it. The receipt of a program
    /// that does not is in the session's transcript.
    pub asks_again: bool,
}

/// Claude Code, whose hook waits beside a dialog.
pub const CLAUDE: Facts = Facts {
    name: "claude",
    by: "askbox hook",
    beside: "hook",
    answered: "it was answered at its terminal",
    reads_remarks: &["Bash", "Write", "Edit"],
    asks_again: false,
};
/// Codex, whose daemon a watcher is connected to.
pub const CODEX: Facts = Facts {
    name: "codex",
    by: "relaunch watch",
    beside: "watcher that waited",
    answered: "it was answered at its terminal, or by another client of codex",
    reads_remarks: &[],
    asks_again: true,
};
/// opencode, whose plugin starts a process.
pub const OPENCODE: Facts = Facts {
    name: "opencode",
    by: "askbox live opencode",
    beside: "plugin",
    answered: "it was answered at its terminal, or by another client of opencode",
    reads_remarks: &[],
    asks_again: true,
};
/// Copilot, whose extension starts a process. An experiment: Copilot's extensions are one, too.
pub const COPILOT: Facts = Facts {
    name: "copilot",
    by: "askbox live copilot",
    beside: "plugin",
    answered: "it was answered at its terminal, or by another extension of Copilot",
    reads_remarks: &[],
    asks_again: true,
};

/// All of them.
pub const ALL: [&Facts; 4] = [&CLAUDE, &CODEX, &OPENCODE, &COPILOT];

impl Facts {
    /// The program of the session that asks a live question. A name that is not known is Claude Code's: anybody may have written it.
    pub fn of(question: &Question) -> &'static Self {
        let name = question.live.as_ref().map(|live| live.program.as_str());
        ALL.into_iter().find(|facts| Some(facts.name) == name).unwrap_or(&CLAUDE)
    }

    /// The reason why a question is withdrawn if nobody waits beside its dialog any more.
    pub fn is_gone(&self) -> String {
        format!("the {} beside its dialog is gone: the session has ended, or still shows its dialog", self.beside)
    }
}
