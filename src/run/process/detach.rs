//! Supervisors as processes of their own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::disk;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::Mailbox;
use crate::run::attempt::record::{self, Run};
use crate::run::process::launch;

/// What a run's environment says about it: nothing of that is true for the supervisor of another run.
const OF_A_RUN: [&str; 4] = ["ASKBOX_RUN", "ASKBOX_WORKFLOW_ID", "WORKFLOW_ID", "ASKBOX_SESSION_ID"];

/// Where a supervisor says what went wrong with itself. Most have nothing to say, and then there is no such file.
#[must_use]
pub fn log(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> PathBuf {
    record::folder(mailbox, round, attempt).join("supervisor.log")
}

/// Has what this process says when it panics written there, for nobody hears it.
pub fn log_panics(log: PathBuf) {
    std::panic::set_hook(Box::new(move |panic| drop(disk::append(&log, format!("{panic}\n").as_bytes()))));
}

/// The call that supervises an attempt. It makes a session of its own, which a group of its own would forbid.
pub fn command(mailbox: &Mailbox, run: &Run) -> Result<Command> {
    let mut command = Command::new(launch::relaunch()?);
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
    Ok(command)
}

/// Starts the supervisor of an attempt so that it belongs to nobody: whatever becomes of the caller, of its session and of its
/// run, it goes on. A process in between makes it an orphan, so that no walk from parent to child finds it.
pub fn start(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let status = command(mailbox, run)?.arg("--detach").status().map_err(|e| failed(&e))?;
    if !status.success() {
        return Err(Error::failed(
            format!("no supervisor could be started for {}", run.round()),
            format!("a watcher starts one by itself; see {}", log(mailbox, &run.round(), run.attempt).display()),
        ));
    }
    Ok(())
}

/// What cannot be started.
#[must_use]
pub fn failed(error: &std::io::Error) -> Error {
    Error::failed(format!("cannot start a supervisor: {error}"), "is the relaunch program still where it was?")
}
