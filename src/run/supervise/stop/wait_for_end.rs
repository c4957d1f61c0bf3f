//! Waiting for the end of a run that was asked to stop. The wait has an end of its own: a supervisor may hang, and one that a signal
//! has stopped (Ctrl-Z, SIGSTOP) reads no request until it is continued.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::disk::{Lock, LockHolder, lock_holder};
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::platform::ProcessHandle;
use crate::run::attempt::record::{self, Run};
use crate::run::supervise::stop::stop_request::Stop;
use crate::time;

/// How long a supervisor needs beside the grace: the other rungs of the ladder, the agent's exit, and killing what the agent left.
const BESIDE_THE_GRACE: Duration = Duration::from_secs(60);
/// After this time the supervisor is looked at for the first time; each later look comes after twice the time of the one before.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// How long a run may take to end. `grace`: the configuration's.
#[must_use]
pub fn limit(stop: &Stop, grace: Duration) -> Duration {
    let grace = stop.request(grace).grace;
    // A report gets the grace once more.
    let graces = if stop.now { Duration::ZERO } else { grace.saturating_mul(1 + u32::from(stop.report)) };
    graces.saturating_add(BESIDE_THE_GRACE)
}

/// Waits until no process supervises the run's round. A supervisor that a signal has stopped is continued, and `continued` is called.
///
/// # Errors
/// [`Error::Waiting`] after `limit`.
pub fn wait(mailbox: &Mailbox, run: &Run, limit: Duration, continued: impl Fn(&LockHolder)) -> Result<()> {
    let lock = record::lock_path(mailbox, &run.round());
    let start = Instant::now();
    let (mut next_look, mut told) = (FIRST_LOOK, false);
    loop {
        let left = limit.saturating_sub(start.elapsed());
        if Lock::is_free_within(&lock, left.min(next_look))? {
            return Ok(());
        }
        let holder = lock_holder(&lock);
        if left.is_zero() {
            return Err(not_ended(run, limit, holder));
        }
        next_look *= 2;
        let Some(holder) = holder.filter(|holder| holder.is_stopped) else { continue };
        let Some(process) = ProcessHandle::open(holder.pid) else { continue };
        // Its pid may have been given to another process before the handle was opened.
        if lock_holder(&lock).is_some_and(|now| now.pid == holder.pid) {
            process.signal(Signal::CONT);
            if !std::mem::replace(&mut told, true) {
                continued(&holder);
            }
        }
    }
}

fn not_ended(run: &Run, limit: Duration, holder: Option<LockHolder>) -> Error {
    let (workflow, limit) = (&run.workflow_id, time::human(limit));
    let message = format!("{workflow} was asked to stop and has not ended within {limit}");
    let again = format!("relaunch stop {workflow}");
    match holder {
        Some(holder) => Error::Waiting {
            message: format!("{message}; its supervisor is {holder}"),
            hint: format!("to end it for sure: kill -KILL {} && {again}; the agent ends with it", holder.pid),
        },
        None => Error::Waiting { message, hint: format!("wait longer with: {again}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::run::task::{self, Task};

    #[test]
    fn the_wait_for_a_run_that_does_not_end_is_bounded_and_names_its_supervisor() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let run = task::begin(&mailbox, &Config::default(), Task::new("w".parse().unwrap(), "do it")).unwrap();
        let lock = Lock::acquire(&record::lock_path(&mailbox, &run.round())).unwrap();
        let error = wait(&mailbox, &run, Duration::from_millis(100), |_| {}).unwrap_err();
        assert_eq!(error.exit_code(), 6);
        assert!(error.to_string().contains(&format!("its supervisor is process {}", std::process::id())), "{error}");
        assert!(error.hint().contains(&format!("kill -KILL {}", std::process::id())), "{}", error.hint());
        drop(lock);
        wait(&mailbox, &run, Duration::ZERO, |_| {}).unwrap();
    }

    #[test]
    fn the_limit_holds_the_grace_and_that_of_a_report() {
        let stop = Stop { at: time::now(), by: "me".into(), grace: None, report: false, now: false };
        let grace = Duration::from_secs(30);
        assert_eq!(limit(&stop, grace), grace + BESIDE_THE_GRACE);
        assert_eq!(limit(&Stop { report: true, ..stop.clone() }, grace), 2 * grace + BESIDE_THE_GRACE);
        assert_eq!(limit(&Stop { now: true, ..stop }, grace), BESIDE_THE_GRACE);
    }
}
