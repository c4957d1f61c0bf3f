//! The request to stop a live run: `stop.json` in the folder of its attempt.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{self, Lock};
use crate::document::{Document, Stored};
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::record::{self, Run};
use crate::run::supervise::ladder;
use crate::run::supervise::stop::wake_up;
use crate::text;
use crate::time::{self, Span, Time};

/// A request to stop: the content of `stop.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// When it was made.
    pub at: Time,
    /// Who made it.
    pub by: String,
    /// How long the tool call in flight may take to finish; `limits.grace` of the configuration if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
    /// Whether the agent is asked for a report before it ends.
    #[serde(default)]
    pub report: bool,
    /// Whether the tool call in flight is cut instead of waited for.
    #[serde(default)]
    pub now: bool,
}

impl Stored for Stop {
    const LARGEST: u64 = 64 << 10;
}

impl Stop {
    /// The request for the ladder. `grace`: the configuration's.
    #[must_use]
    pub fn request(&self, grace: std::time::Duration) -> ladder::Request {
        ladder::Request {
            why: format!("stopped by {}", text::excerpt(&self.by, 60)),
            grace: self.grace.map_or(grace, |s| s.0),
            report: self.report,
            now: self.now,
        }
    }
}

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("stop.json")
}

/// Asks the live run of a workflow to stop. Returns the run.
///
/// # Errors
/// [`Error::NotFound`] if no run of the workflow is live.
pub fn send(mailbox: &Mailbox, workflow: &WorkflowId, stop: &Stop) -> Result<Run> {
    let run = live(mailbox, workflow)?;
    let folder = run.folder(mailbox);
    // Replaces an earlier request: the later one may be more urgent.
    disk::replace(&path(&folder), &Document::new(stop.clone())?.to_file()?)?;
    audit::record(mailbox, Entry::of("stop_requested", &run.round()).by(&stop.by));
    wake_up::wake(&folder)?;
    Ok(run)
}

/// The live run of a workflow.
///
/// # Errors
/// [`Error::NotFound`] if there is none.
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

/// The request to stop the run of this folder, if there is one.
pub fn read(folder: &Path) -> Result<Option<Stop>> {
    let path = path(folder);
    match disk::read(&path, Stop::LARGEST) {
        Err(e) if e.is_missing_file() => Ok(None),
        other => Document::parse(&other?).map(|d| Some(d.typed)).map_err(|e| e.in_file(&path)),
    }
}

/// Writes a request if there is none, so that the hooks end the turn.
pub fn ensure(folder: &Path, by: &str) -> Result<()> {
    if disk::exists(path(folder)) {
        return Ok(());
    }
    let stop = Stop { at: time::now(), by: by.into(), grace: None, report: false, now: false };
    disk::replace(&path(folder), &Document::new(stop)?.to_file()?)
}
