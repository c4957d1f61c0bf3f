//! Asking a live run to stop. `stop.json` beside its record is the request; its presence alone makes our hooks end the turn
//! at the next tool boundary. A byte into the FIFO `control` wakes the supervisor, which climbs the ladder. Nothing is
//! signalled by pid.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::{self, Lock};
use crate::document::Document;
use crate::error::{Error, IoContext, Result};
use crate::id::WorkflowId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::{Folder, Mailbox, list};
use crate::run::attempt::record::{self, Run};
use crate::run::process::lookout::Source;
use crate::run::supervise::ladder;
use crate::text::shell_quote;
use crate::time::{self, Span, Time};

/// What the agent is told about a call that is refused because the run is to stop.
pub(crate) const REFUSAL: &str = "This run is being stopped: call no more tools; your work so far is kept and can be continued.";
/// The largest request, in bytes.
const MAX_STOP: u64 = 64 << 10;

/// A request to stop, as it lies on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// When.
    pub at: Time,
    /// By whom.
    pub by: String,
    /// How long the tool call in flight may take to finish; the configuration's grace where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// Ask the agent what it has.
    #[serde(default)]
    pub report: bool,
    /// No patience with the tool call in flight.
    #[serde(default)]
    pub now: bool,
}

impl Stop {
    /// As the ladder takes it.
    #[must_use]
    pub fn request(&self, grace: std::time::Duration) -> ladder::Request {
        ladder::Request {
            why: format!("stopped by {}", crate::text::excerpt(&self.by, 60)),
            grace: self.grace.map_or(grace, |s| s.0),
            report: self.report,
            now: self.now,
        }
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("stop.json")
}

fn control(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// Asks the live run of a workflow to stop. Returns the run.
///
/// # Errors
/// [`Error::NotFound`] where no run of it is live.
pub fn ask(mailbox: &Mailbox, workflow: &WorkflowId, stop: &Stop) -> Result<Run> {
    let run = live(mailbox, workflow)?;
    let folder = run.folder(mailbox);
    // A later request may be more impatient than an earlier one.
    disk::replace(&path(&folder), &Document::new(stop.clone())?.to_bytes())?;
    audit::record(mailbox, Entry::of("stop_requested", &run.round()).by(&stop.by));
    wake(&control(&folder))?;
    Ok(run)
}

/// The run of a workflow that is live.
pub fn live(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Run> {
    for round in list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == *workflow) {
        if Lock::is_held(&record::lock_path(mailbox, &round))?
            && let Some(run) = record::latest(mailbox, &round)?
        {
            return Ok(run);
        }
    }
    Err(Error::not_found(format!("no run of {workflow} is live"), format!("see where it stands: relaunch status {workflow}")))
}

/// The request that lies beside a run, if any.
pub fn asked(folder: &Path) -> Result<Option<Stop>> {
    let path = path(folder);
    match disk::read(&path, MAX_STOP) {
        Err(e) if e.is_missing_file() => Ok(None),
        other => Document::parse(&other?).map(|d| Some(d.typed)).map_err(|e| e.in_file(&path)),
    }
}

/// Makes it known to our hooks that the run is to stop, whoever said so.
pub fn mark(folder: &Path, by: &str) -> Result<()> {
    if path(folder).exists() {
        return Ok(());
    }
    let stop = Stop { at: time::now(), by: by.into(), grace: None, report: false, now: false };
    disk::replace(&path(folder), &Document::new(stop)?.to_bytes())
}

/// The FIFO `control`; gone when this is dropped.
#[derive(Debug)]
#[must_use = "nobody can wake the run once this is dropped"]
pub struct Control(PathBuf);

impl Drop for Control {
    fn drop(&mut self) {
        // A left-over FIFO would hold up whoever reads every file of the mailbox.
        let _ = disk::untouch(&self.0);
    }
}

struct WakeUps<F> {
    fifo: File,
    woken: F,
}

/// Makes the FIFO, and calls `woken` when somebody has written into it.
pub fn listen(folder: &Path, woken: impl Fn() + Send + 'static) -> Result<(Control, Box<dyn Source>)> {
    let path = control(folder);
    let fifo = disk::fifo::open_reader(&path)?;
    Ok((Control(path), Box::new(WakeUps { fifo, woken })))
}

impl<F: Fn() + Send> Source for WakeUps<F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.fifo.as_fd()]
    }

    fn ready(&mut self) -> bool {
        match self.fifo.read(&mut [0; 64]) {
            Ok(1..) => (self.woken)(),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Ok(0) | Err(_) => return false,
        }
        true
    }
}

fn wake(path: &Path) -> Result<()> {
    // Without a reader, the supervisor has just ended or has not started to listen yet; in both cases it reads `stop.json` itself.
    let Some(mut fifo) = disk::fifo::open_writer(path)? else { return Ok(()) };
    match fifo.write_all(b"s") {
        // Full: it will be woken anyway.
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => other.io("write to", path),
    }
}

/// Hooks for `claude --settings` that end the turn at a tool boundary once `stop.json` lies in `folder`: new calls are refused,
/// and behind the calls in flight the turn ends. (PostToolBatch `continue:false` keeps their results; PreToolUse alone would
/// leave the model talking. Measured on Claude Code 2.1.330.)
#[must_use]
pub fn hooks(folder: &Path) -> String {
    // As text: it is made for every launch, and nothing of it but the file's name ever changes.
    let file = shell_quote(&path(folder).display().to_string());
    let when_asked = |answer: &str| {
        let command = format!("if [ -e {file} ]; then printf %s {}; fi", shell_quote(answer));
        format!(r#"[{{"hooks":[{{"type":"command","command":{}}}]}}]"#, Value::from(command))
    };
    let refusal = format!(
        r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":{}}}}}"#,
        Value::from(REFUSAL)
    );
    let end = r#"{"continue":false,"stopReason":"stopped by askbox"}"#;
    format!(r#"{{"hooks":{{"PreToolUse":{},"PostToolBatch":{}}}}}"#, when_asked(&refusal), when_asked(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::process::lookout::Lookout;

    #[test]
    fn the_hooks_are_silent_until_the_request_lies_there() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("it's $(here)");
        std::fs::create_dir(&folder).unwrap();
        let hooks: Value = serde_json::from_str(&hooks(&folder)).unwrap();
        let say = |event: &str| {
            let command = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
            let output = std::process::Command::new("/bin/sh").args(["-c", command]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!((say("PreToolUse"), say("PostToolBatch")), (String::new(), String::new()));
        mark(&folder, "test").unwrap();
        assert_eq!(serde_json::from_str::<Value>(&say("PostToolBatch")).unwrap()["continue"], false);
        let pre: Value = serde_json::from_str(&say("PreToolUse")).unwrap();
        assert_eq!(pre["hookSpecificOutput"]["permissionDecision"], "deny");
    }

    #[test]
    fn a_wake_up_reaches_who_listens_and_nobody_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        wake(&control(folder.path())).unwrap();
        let (sender, woken) = std::sync::mpsc::channel();
        let (fifo, wake_ups) = listen(folder.path(), move || sender.send(()).unwrap()).unwrap();
        let mut lookout = Lookout::new().unwrap();
        lookout.start(vec![wake_ups]);
        wake(&control(folder.path())).unwrap();
        woken.recv_timeout(std::time::Duration::from_secs(10)).unwrap();
        // Its thread ends with it, and nothing is left that a reader of all files would hang on.
        drop(lookout);
        assert!(
            woken.recv_timeout(std::time::Duration::from_secs(10)).is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Disconnected)
        );
        drop(fifo);
        assert!(!control(folder.path()).exists());
    }
}
