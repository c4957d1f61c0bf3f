//! Starts a supervisor as a process of its own, which outlives the process that starts it.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::attempt::record::{self, Run, RunState};
use crate::process::{programs, run_processes};
use askbox_mailbox::disk::Lock;
use askbox_mailbox::documents::fields::asked_in::NONCE;
use askbox_mailbox::{Error, Mailbox, Result, RoundId, status_within, time};

/// Variables that describe a run to its agent. They must not reach the supervisor of another run.
const OF_A_RUN: [&str; 5] = ["ASKBOX_RUN", NONCE, "ASKBOX_WORKFLOW_ID", "WORKFLOW_ID", "ASKBOX_SESSION_ID"];

/// How long the process that detaches a supervisor may take.
const HELPER_PATIENCE: Duration = Duration::from_secs(20);

/// How long a supervisor may take to begin on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(10);

/// The file for the supervisor's own errors and panics. It exists only if there were any.
pub fn log(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> PathBuf {
    record::folder(mailbox, round, attempt).join("supervisor.log")
}

/// The command that supervises an attempt. It must not get a process group of its own, because the process then could not start a
/// session.
pub fn command(mailbox: &Mailbox, run: &Run) -> Result<Command> {
    let mut command = Command::new(programs::relaunch()?);
    command
        .arg("supervise")
        .arg("--mailbox")
        .arg(mailbox.root())
        .args([run.workflow_id.as_str(), &run.question_id.to_string(), &run.attempt.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    OF_A_RUN.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env(run_processes::SUPERVISES, run.token());
    Ok(command)
}

/// Starts the supervisor of an attempt, detached: it goes on whatever happens to the calling process, its session and its run. A helper
/// process in between makes the supervisor an orphan, so that a search from parents to children does not find it.
pub fn start(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let mut helper = command(mailbox, run)?.arg("--detach").spawn().map_err(failed)?;
    // The helper ends at once unless a signal stops it.
    let ended = status_within(&mut helper, HELPER_PATIENCE).map_err(failed)?;
    if ended.is_none() {
        helper.kill().and_then(|()| helper.wait()).map_err(failed)?;
    }
    if !ended.is_some_and(|status| status.success()) {
        return Err(Error::failed(
            format!("no supervisor could be started for {}", run.round()),
            format!("a watcher starts one by itself; see {}", log(mailbox, &run.round(), run.attempt).display()),
        ));
    }
    Ok(())
}

/// Waits until a supervisor that was started owns its attempt, or has already ended it.
///
/// # Errors
/// If no supervisor owns it within ten seconds. A supervisor may still come later.
pub fn wait_until_owned(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let (lock, deadline) = (record::lock_path(mailbox, &run.round()), Instant::now() + START_LIMIT);
    while !Lock::is_held(&lock)? {
        let is_claimed = record::read(mailbox, &run.round(), run.attempt).is_ok_and(|now| now.state == RunState::Claimed);
        if !is_claimed {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Error::failed(
                format!("the supervisor of {} has not begun within {}", run.round(), time::human(START_LIMIT)),
                format!("see {}", log(mailbox, &run.round(), run.attempt).display()),
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The error for a supervisor that cannot be started.
pub fn failed(error: io::Error) -> Error {
    let error = Error::Io { action: "start", path: "a supervisor".into(), source: error };
    if error.is_shortage() {
        return error;
    }
    Error::failed(error.to_string(), "check that the relaunch program is still installed: askbox doctor")
}
