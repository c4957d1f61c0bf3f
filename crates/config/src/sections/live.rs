//! `[live]`: the dialogs of sessions that a person attends.

use std::time::Duration;

use crate::section::section;
use askbox_mailbox::dialogs::Program;
use askbox_mailbox::{Error, Result, Span};

/// The longest time before a dialog is asked here as well.
const LONGEST_GRACE: Duration = Duration::from_secs(3600);
/// The longest time that an agent waits in the background. Its hook ends after 30 days.
const LONGEST_HOLD: Duration = Duration::from_secs(366 * 86_400);

section! {
    /// `[live]`: the dialogs of sessions that a person attends.
    "live" Live {
        /// True if dialogs of attended sessions of Claude Code are questions of the mailbox as well. The plugin brings the hook for it.
        enabled: bool = false,
        /// How long a dialog is left to its terminal alone.
        grace: Span = Span(Duration::from_secs(10)),
        /// How long a background agent waits for an answer before its dialog opens at the terminal. `"30d"`: as long as it takes.
        hold: Span = Span(Duration::from_secs(300)),
        /// True if `claude -p` and programs with the Agent SDK outside of askbox ask as well, for the time of `hold`.
        unattended: bool = false,
        /// True if the watcher brings the dialogs of the daemon of Codex (`$CODEX_HOME` or `~/.codex`) into the mailbox. `enabled` is not
        /// needed.
        codex: bool = false,
        /// True if the dialogs of opencode come into the mailbox, by the plugin that `askbox setup --opencode` writes.
        opencode: bool = false,
        /// An experiment: true if permissions of `copilot --experimental` come into the mailbox, by the extension that `askbox setup
        /// --copilot` writes.
        experimental_copilot: bool = false,
        /// Programs whose dialogs are only told to the targets, as `at_terminal`. `askbox setup` shows the hooks for it. Example: `["kimi",
        /// "gemini"]`.
        news: Vec<Program> = Vec::new(),
    }
}

impl Live {
    /// Refuses times that nobody can mean.
    pub(crate) fn check(&self) -> Result<()> {
        if self.grace.0 > LONGEST_GRACE {
            return Err(Error::invalid("live.grace", "is longer than 1h", "write a shorter time such as 10s"));
        }
        if self.hold.0 > LONGEST_HOLD {
            return Err(Error::invalid("live.hold", "is longer than 366d", "write a shorter time such as 30d"));
        }
        Ok(())
    }
}
