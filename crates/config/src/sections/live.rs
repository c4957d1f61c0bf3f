//! `[live]`: the dialogs of sessions that a person attends.

use std::time::Duration;

use crate::section::section;
use askbox_mailbox::dialogs::Program;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::time::Span;

/// The longest time before a dialog is asked here as well.
const LONGEST_GRACE: Duration = Duration::from_secs(3600);
/// The longest time that an agent waits in the background. Its hook ends after 30 days.
const LONGEST_HOLD: Duration = Duration::from_secs(366 * 86_400);

section! {
    /// `[live]`: the dialogs of sessions that a person attends.
    "live" Live {
        /// Whether each dialog of an attended session of Claude Code is a question of the mailbox as well. The dialog stays open at its
        /// terminal, and the first answer counts. The plugin brings the hook that this needs.
        enabled: bool = false,
        /// How long a dialog is left to the person at the terminal alone, before it is asked in the mailbox too.
        grace: Span = Span(Duration::from_secs(10)),
        /// How long a background agent of such a session waits for an answer. Nothing is shown at the terminal in that time. Then its
        /// dialog opens there, and the question is withdrawn. `"30d"`: as long as it takes.
        hold: Span = Span(Duration::from_secs(300)),
        /// Whether sessions ask as well that nobody attends: `claude -p` and programs with the Agent SDK, if askbox has not started them.
        /// Without an answer within `hold`, such a call goes on as it does without askbox. `claude -p` refuses it.
        unattended: bool = false,
        /// Whether the approvals and questions of Codex's sessions are questions of the mailbox as well. The watcher (`relaunch watch`)
        /// connects to the daemon that `codex` starts, in `$CODEX_HOME` or `~/.codex`. The plugin, its hook and
        /// `enabled` are not needed for this.
        codex: bool = false,
        /// Whether the permissions and questions of opencode's sessions are questions of the mailbox as well. `askbox setup --opencode`
        /// writes the plugin for opencode that this needs. The other plugin, its hook and `enabled` are not needed.
        opencode: bool = false,
        /// An experiment, which may change or go: whether the permissions of Copilot's sessions are questions of the mailbox as well.
        /// `askbox setup --copilot` writes the extension for Copilot that this needs, and sessions need `copilot --experimental`.
        experimental_copilot: bool = false,
        /// An experiment, which may change or go: whether the permissions of Qwen's sessions are questions of the mailbox as well. Only
        /// sessions that were started as `askbox live qwen -- ARGS` in place of `qwen ARGS` take part.
        experimental_qwen: bool = false,
        /// The programs whose dialogs are told as news: `"kimi"`, `"gemini"`. Nobody can answer their dialogs in the mailbox. After `grace`,
        /// the targets get the event `at_terminal`. `askbox setup` shows the hooks that this needs. Example: `["kimi", "gemini"]`.
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
