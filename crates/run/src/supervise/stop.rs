//! Requests of other processes to stop a live run: the request itself is `stop.json` in the folder of its attempt.
//!
//! The FIFO `control` in the folder of a live attempt. A byte in it wakes the supervisor, which then looks for `stop.json`. So no process
//! is signalled by its pid.
//!
//! Waits for the end of a run that was asked to stop. The wait itself is limited, because a supervisor may hang. A supervisor that a
//! signal has stopped (Ctrl-Z, SIGSTOP) reads no request until it is continued.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::attempt::record::{self, Run};
pub(crate) use crate::attempt::stop_request::request_path;
pub use crate::attempt::stop_request::{Stop, read_request};
use crate::process::poll_thread::{self, PollSource};
use crate::supervise::ladder;
use askbox_mailbox::audit::Entry;
use askbox_mailbox::disk::{Lock, LockHolder, lock_holder};
use askbox_mailbox::listing::list;
use askbox_mailbox::platform::ProcessHandle;
use askbox_mailbox::{Document, Error, Folder, IoContext, Mailbox, Result, WorkflowId, audit, disk, text, time};

impl Stop {
    /// The request for the ladder. `grace` is the configuration's.
    pub fn request(&self, grace: std::time::Duration) -> ladder::StopRequest {
        ladder::StopRequest {
            why: format!("stopped by {}", text::excerpt(&self.by, 60)),
            grace: self.grace.map_or(grace, |s| s.0),
            report: self.report,
            now: self.now,
        }
    }
}

/// Asks the live run of a workflow to stop. Returns the run.
///
/// # Errors
/// [`Error::NotFound`] if no run of the workflow is live.
pub fn send(mailbox: &Mailbox, workflow: &WorkflowId, stop: &Stop) -> Result<Run> {
    let run = live_run(mailbox, workflow)?;
    let folder = run.folder(mailbox);
    // Replaces an earlier request, because the later one may be more urgent.
    disk::replace(&request_path(&folder), &Document::new(stop.clone())?.to_file()?)?;
    audit::record(mailbox, Entry::about_round("stop_requested", &run.round()).by(&stop.by));
    wake(&folder)?;
    Ok(run)
}

/// The live run of a workflow.
///
/// # Errors
/// [`Error::NotFound`] if there is none.
pub fn live_run(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Run> {
    for round in list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == *workflow) {
        if Lock::is_held(&record::lock_path(mailbox, &round))?
            && let Some(run) = record::latest(mailbox, &round)?
        {
            return Ok(run);
        }
    }
    Err(Error::not_found(format!("no run of {workflow} is live"), format!("see where it stands: relaunch status {workflow}")))
}

/// Writes a request if there is none, so that the hooks end the turn. `by_limit` tells a limit from a person.
pub fn ensure_request(folder: &Path, by: &str, by_limit: bool) -> Result<()> {
    if disk::exists(request_path(folder)) {
        return Ok(());
    }
    let stop = Stop { at: time::now(), by: by.into(), grace: None, report: false, now: false, by_limit };
    disk::replace(&request_path(folder), &Document::new(stop)?.to_file()?)
}

/// The FIFO in the folder of a live attempt.
pub fn control_path(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// The FIFO's name, which is removed when this is dropped.
#[derive(Debug)]
#[must_use = "the run cannot be woken once this is dropped"]
pub struct ControlFifo(PathBuf);

impl Drop for ControlFifo {
    fn drop(&mut self) {
        // A program that reads every file of the mailbox would block on it.
        let _ = disk::untouch(&self.0);
    }
}

/// Creates the FIFO in an attempt's folder. Once the source is polled, `on_wake_up` is called after each [`wake`].
pub fn listen_for_wake_ups(folder: &Path, on_wake_up: impl Fn() + Send + 'static) -> Result<(ControlFifo, Box<dyn PollSource>)> {
    let path = control_path(folder);
    let fifo = disk::fifo::open_reader(&path)?;
    let source = poll_thread::to_read(fifo, move |fifo| match fifo.read(&mut [0; 64]) {
        Ok(0) => false,
        Ok(_) => {
            on_wake_up();
            true
        }
        Err(e) => matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
    });
    Ok((ControlFifo(path), source))
}

/// Wakes the supervisor of the attempt in this folder, if there is one.
pub fn wake(folder: &Path) -> Result<()> {
    let path = control_path(folder);
    // Without a reader, the supervisor has just ended or has not started to listen yet; in both cases it reads `stop.json` itself.
    let Some(mut fifo) = disk::fifo::open_writer(&path)? else { return Ok(()) };
    match fifo.write_all(b"s") {
        // The FIFO is full, so the supervisor is about to wake up.
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => other.io("write to", path),
    }
}

/// The time that a supervisor needs besides the grace: for the other rungs of the ladder, the agent's exit, and killing what the agent
/// left.
const BESIDE_THE_GRACE: Duration = Duration::from_secs(60);
/// The supervisor is looked at for the first time after this time. Each later look comes after twice the time of the one before.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// How long a run may take to end. `grace` is the configuration's.
pub fn wait_limit(stop: &Stop, grace: Duration) -> Duration {
    let grace = stop.request(grace).grace;
    // A report gets the grace a second time.
    let graces = if stop.now { Duration::ZERO } else { grace.saturating_mul(1 + u32::from(stop.report)) };
    graces.saturating_add(BESIDE_THE_GRACE)
}

/// Waits until no process supervises the run's round. A supervisor that a signal has stopped is continued, and `continued` is called.
///
/// # Errors
/// [`Error::Waiting`] after `limit`.
pub fn wait_for_end(mailbox: &Mailbox, run: &Run, limit: Duration, continued: impl Fn(&LockHolder)) -> Result<()> {
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
        // Another process may have got the pid before the handle was opened.
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
            hint: format!("to end it for sure: kill -KILL {} && {again}; the agent ends with it", holder.pid).into(),
        },
        None => Error::Waiting { message, hint: format!("wait longer with: {again}").into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::poll_thread::PollThread;
    use crate::task::{self, Task};
    use askbox_config::Config;

    #[test]
    fn a_wake_up_reaches_the_listener_and_without_one_does_nothing() {
        let folder = tempfile::tempdir().unwrap();
        wake(folder.path()).unwrap();
        let (sender, woken) = std::sync::mpsc::channel();
        let (fifo, wake_ups) = listen_for_wake_ups(folder.path(), move || sender.send(()).unwrap()).unwrap();
        let mut poll_thread = PollThread::new().unwrap();
        poll_thread.start(vec![wake_ups]);
        wake(folder.path()).unwrap();
        woken.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        // The poll thread ends, and no FIFO is left.
        drop(poll_thread);
        assert!(
            woken.recv_timeout(std::time::Duration::from_secs(60)).is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Disconnected)
        );
        drop(fifo);
        assert!(!control_path(folder.path()).exists());
    }

    #[test]
    fn the_wait_for_a_run_that_does_not_end_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let run = task::begin(&mailbox, &Config::default(), Task::new("w".parse().unwrap(), "do it")).unwrap();
        let lock = Lock::acquire(&record::lock_path(&mailbox, &run.round())).unwrap();
        let error = wait_for_end(&mailbox, &run, Duration::from_millis(100), |_| {}).unwrap_err();
        assert_eq!(error.exit_code(), 6);
        assert!(error.to_string().contains(&format!("its supervisor is process {}", std::process::id())), "{error}");
        assert!(error.hint().contains(&format!("kill -KILL {}", std::process::id())), "{}", error.hint());
        drop(lock);
        wait_for_end(&mailbox, &run, Duration::ZERO, |_| {}).unwrap();
    }

    #[test]
    fn the_limit_holds_the_grace_and_that_of_a_report() {
        let stop = Stop { at: time::now(), by: "me".into(), grace: None, report: false, now: false, by_limit: false };
        let grace = Duration::from_secs(30);
        assert_eq!(wait_limit(&stop, grace), grace + BESIDE_THE_GRACE);
        assert_eq!(wait_limit(&Stop { report: true, ..stop.clone() }, grace), 2 * grace + BESIDE_THE_GRACE);
        assert_eq!(wait_limit(&Stop { now: true, ..stop }, grace), BESIDE_THE_GRACE);
    }
}
