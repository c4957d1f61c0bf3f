//! The live session whose shell runs this program.

use crate::program::env;
use askbox_config as config;
use askbox_mailbox::{Mailbox, Question, SessionId, wake};

/// The live session of a user whose shell runs this program, if it can be given a turn later. A run of askbox is woken in its own way.
///
/// A session of Claude Code has told that it wants to be woken. A session of Codex was seen by a watcher in Codex's daemon, and the operator
/// connects askbox to the daemon (`live.codex`). The variable alone proves nothing: `codex exec` and `codex --no-daemon` set it too.
/// If Claude Code is above or below Codex, the variables do not tell which of them runs this program, and Claude Code's counts.
pub fn live_session(mailbox: &Mailbox) -> Option<SessionId> {
    if env("ASKBOX_RUN").is_some() {
        return None;
    }
    if let Some(session) = env("CLAUDE_CODE_SESSION_ID") {
        return session.parse().ok().filter(|session| wake::is_wanted(mailbox, session));
    }
    let thread = env("CODEX_THREAD_ID")?.parse().ok()?;
    let is_wanted = || config::load().is_ok_and(|loaded| loaded.config.live.codex);
    (wake::is_of_codex(mailbox, &thread) && is_wanted()).then_some(thread)
}

/// The live session that goes on with the answer to this question, which is about to be posted. If there is a checkpoint, an agent goes on
/// from it instead.
pub fn continues_in(mailbox: &Mailbox, question: &Question) -> Option<SessionId> {
    live_session(mailbox).filter(|_| question.checkpoint.is_none())
}
