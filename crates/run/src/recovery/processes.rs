//! The processes of a round's earlier attempts: found, and ended before anything is launched.

use std::time::Duration;

use crate::attempt::record::{Run, RunState};
use crate::process::{agent_lock, run_processes};
use askbox_mailbox::{Error, Lock, Mailbox, Result};

/// How long an agent may take to end whose supervisor has died. Claude Code needs 2 s on an idle machine, and gives itself 5 s.
const ENDS_BY_ITSELF: Duration = Duration::from_secs(10);

/// The processes that are left of a round's earlier attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Left {
    /// None.
    None,
    /// Some may be visible to this process.
    Here,
    /// The agent lives, and this process cannot see it: it has another PID namespace or another user.
    Elsewhere {
        /// The agent as it described itself.
        agent: String,
    },
}

/// True if a process of the round may live. Ends none.
pub(super) fn may_live(mailbox: &Mailbox, run: &Run) -> Result<bool> {
    Ok(!run_processes::find(of_round(run)).is_empty() || Lock::is_held(&agent_lock::path(&run.folder(mailbox)))?)
}

/// Ends all visible processes of all attempts of the round, and looks whether the agent of the last attempt lives where it is not
/// visible. Takes up to half a minute if a process is stuck. Never returns [`Left::Here`].
pub(super) fn end(mailbox: &Mailbox, run: &Run) -> Result<Left> {
    run_processes::check_visible()?;
    let is_ours = of_round(run);
    if run.state == RunState::Running {
        // The processes may be ending already: a supervisor that dies takes its agent along.
        run_processes::wait_gone(&is_ours, ENDS_BY_ITSELF);
    }
    run_processes::end(&is_ours, run_processes::TERM_GRACE).map_err(|left| {
        let hint = "end them by hand; nothing is relaunched before they are gone";
        Error::failed(format!("{} of the earlier attempt of {} cannot be killed", run_processes::counted(left), run.round()), hint)
    })?;
    let lock = agent_lock::path(&run.folder(mailbox));
    // An agent that was not gone at the first look is only looked at. So the round's lock stays free for a process that sees the agent.
    let patience = if run.state == RunState::Running { run_processes::TERM_GRACE } else { Duration::ZERO };
    match agent_lock::end_holders(&lock, run_processes::TERM_GRACE, patience)? {
        true => Ok(Left::None),
        false => Ok(Left::Elsewhere { agent: agent_lock::holder(&lock) }),
    }
}

/// Matches the tokens ([`Run::token`]) of all attempts of the round.
fn of_round(run: &Run) -> impl Fn(&str) -> bool {
    let prefix = format!("{}/{}/", run.workflow_id, run.question_id);
    move |token| token.starts_with(&prefix)
}
