//! How the agent's session begins in an attempt, judged by the transcripts that exist.

use crate::agent::{claude, transcript};
use crate::run::attempt::record::{Begin, Run};

/// How the session of an attempt begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStart {
    /// A new session under the chosen id.
    New,
    /// The session that an earlier attempt began.
    Continue,
    /// A fork of an earlier round's session.
    Fork(String),
}

/// How the session of `run` begins now. If the chosen session has a transcript, an earlier attempt began it, so it is resumed.
#[must_use]
pub fn of(run: &Run) -> SessionStart {
    let dir = run.plan.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let exists = |session: &str| dir.as_ref().is_some_and(|d| claude::transcript_exists(d, session).is_some());
    match &run.plan.begin {
        _ if exists(&run.plan.session_id.to_string()) => SessionStart::Continue,
        Begin::Fork { from, .. } if exists(&from.to_string()) => SessionStart::Fork(from.to_string()),
        _ => SessionStart::New,
    }
}

/// Whether the session has the attempt's message, and the agent has not answered it. Such a session is discarded, and the next attempt
/// begins as this one began: a resume would show the model the message twice.
#[must_use]
pub fn is_unanswered(run: &Run) -> bool {
    let dir = run.plan.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let transcript = dir.and_then(|d| claude::transcript_exists(&d, &run.plan.session_id.to_string()));
    let file = transcript.and_then(|t| std::fs::File::open(t).ok());
    file.is_some_and(|f| transcript::is_unanswered(f, &run.plan.message_id.to_string()))
}
