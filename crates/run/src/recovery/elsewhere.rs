//! An agent that outlived its supervisor where this process cannot see it: in another PID namespace, such as a container that shares
//! the mailbox. Nothing is launched beside it. The round waits for it, and is parked if it does not end.

use std::time::Duration;

use crate::attempt::ending::{self, Ending};
use crate::attempt::failure::{Class, Failure};
use crate::attempt::record::{self, Run, RunState};
use crate::process::agent_lock;
use askbox_config::Config;
use askbox_mailbox::text::shell_quote;
use askbox_mailbox::{Due, Error, Mailbox, Result, Time, Timer, time};

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
