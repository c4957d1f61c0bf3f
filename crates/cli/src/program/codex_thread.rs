//! The attended session of Codex whose shell runs this program.

use crate::program::env;
use askbox_config as config;
use askbox_mailbox::id::SessionId;
use askbox_mailbox::{Mailbox, wake};

/// The session of Codex's daemon whose shell runs this program, if the operator connects askbox to the daemon (`live.codex`) and a watcher has
/// seen the session there.
///
/// The variable alone is no proof: `codex exec` and `codex --no-daemon` set it too, and such a session cannot be given a turn. A run of
/// askbox is woken in its own way. If Claude Code is above or below Codex, the variables do not tell which of them runs this program.
pub fn codex_thread(mailbox: &Mailbox) -> Option<SessionId> {
    let thread = env("CODEX_THREAD_ID")?.parse().ok()?;
    let is_alone = ["ASKBOX_RUN", "CLAUDE_CODE_SESSION_ID"].into_iter().all(|name| env(name).is_none());
    let is_wanted = || config::load().is_ok_and(|loaded| loaded.config.live.codex);
    (is_alone && wake::is_of_codex(mailbox, &thread) && is_wanted()).then_some(thread)
}
