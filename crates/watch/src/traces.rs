//! What the watcher tells the exporter of traces, and what that one counts: how many rounds were sent to the collector and how many were lost: the file `traces.json`. `askbox doctor` shows it. It is not synced,
//! so after a power cut it may count a little less.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use askbox_mailbox::{Mailbox, QuestionId, Result, Time, WorkflowId, disk, document};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// A line to the exporter.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceLine {
    /// Something may have happened to a workflow.
    Look(WorkflowId),
    /// The run of a round has ended.
    Ended(WorkflowId, QuestionId),
}

/// The counts since the first round was sent.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// The rounds that the collector took.
    #[serde(default)]
    pub sent: u64,
    /// The rounds that it did not take in time, and those that found no room in the queue.
    #[serde(default)]
    pub lost: u64,
    /// When it last took some.
    pub sent_at: Option<Time>,
    /// When a request last failed.
    pub failed_at: Option<Time>,
    /// Why it failed.
    pub problem: Option<String>,
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("traces.json")
}

impl Tally {
    /// Reads the counts; `None` if nothing was ever sent or lost.
    pub fn read(mailbox: &Mailbox) -> Option<Self> {
        document::json(&disk::read(&path(mailbox), LONGEST).ok()?)
    }

    /// Writes the counts.
    ///
    /// # Errors
    /// Those of writing the file.
    pub fn write(&self, mailbox: &Mailbox) -> Result<()> {
        disk::replace_unsynced(&path(mailbox), &document::to_json(self)?, SystemTime::now())
    }

    /// True if the last request failed.
    pub fn is_failing(&self) -> bool {
        self.failed_at.is_some_and(|failed| self.sent_at.is_none_or(|sent| sent <= failed))
    }
}
