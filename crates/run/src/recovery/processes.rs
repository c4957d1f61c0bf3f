//! The processes of a round's earlier attempts: found, and ended before anything is launched.
//!
//! An agent that outlived its supervisor where this process cannot see it: in another PID namespace, such as a container that shares
//! the mailbox. Nothing is launched beside it. The round waits for it, and is parked if it does not end.

use std::time::Duration;

use crate::attempt::ending::{self, Ending};
use crate::attempt::failure::{Class, Failure};
use crate::attempt::record::{self, Run, RunState};
use crate::process::{agent_lock, run_processes};
use askbox_config::Config;
use askbox_mailbox::{Due, Error, Lock, Mailbox, Result, Time, Timer, shell_quote, time};

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

/// How long a round waits for such an agent before it is parked.
const LONGEST: Duration = Duration::from_secs(600);

/// How often to look whether the agent has ended.
const EVERY: Duration = Duration::from_secs(5);

/// True if the attempt waits for its agent, which lives elsewhere.
pub(super) fn is_awaited(run: &Run) -> bool {
    run.state == RunState::Failed && run.failure.as_ref().is_some_and(|failure| failure.class == Class::Elsewhere)
}

/// Lets the round wait for the agent of `last`, or parks it after [`LONGEST`]. The attempt's record says what it waits for, and since
/// when. Returns the time of the next look; `None` if the round is parked now. The caller holds the round's lock.
pub(super) fn wait(mailbox: &Mailbox, config: &Config, last: Run, agent: &str) -> Result<Option<Time>> {
    let now = time::now();
    let since = last.ended_at.filter(|_| is_awaited(&last)).unwrap_or(now);
    let why = why(&last, agent);
    if !time::is_near(since, LONGEST) {
        let why = format!("{why}; it has not ended within {}", time::human(LONGEST));
        ending::finish(mailbox, config, last, &Ending::Refused { class: Class::Elsewhere, why })?;
        return Ok(None);
    }
    let at = now + EVERY;
    let failure = Failure::new(Class::Elsewhere, &why, &last.workflow_id);
    let waits = Run { state: RunState::Failed, ended_at: Some(since), retry_at: Some(at), why: Some(why), failure: Some(failure), ..last };
    record::write(mailbox, &waits)?;
    Timer { at, due: Due::Retry, round: waits.round() }.arm(mailbox)?;
    Ok(Some(at))
}

/// The error for a command that cannot wait for the agent of `run`.
pub(super) fn error(mailbox: &Mailbox, run: &Run, agent: &str) -> Error {
    let lock = shell_quote(&agent_lock::path(&run.folder(mailbox)).display().to_string());
    Error::conflict(why(run, agent), format!("end it there and repeat the command; if that machine is gone: rm {lock}"))
}

fn why(run: &Run, agent: &str) -> String {
    let agent = if agent.is_empty() { "a process" } else { agent };
    format!("the agent of attempt {} lives, but its supervisor does not: {agent}, in another container or PID namespace", run.attempt)
}
