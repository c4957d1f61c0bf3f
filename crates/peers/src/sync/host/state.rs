//! The state of the host's process, for the doctor: the file `sync/state.json`. It only repeats what the process knows, so it is not
//! synced.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use askbox_mailbox::{Decided, Lock, Mailbox, Result, Time, WorkflowId, disk, document, text};

const LARGEST: u64 = 64 << 10;
/// How many refused offers are kept.
const REFUSED: usize = 16;

/// The file `sync/state.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// The database, for people.
    pub database: String,
    /// When the database was reached last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_at: Option<Time>,
    /// Since when something fails, and the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// How far this machine's clock is ahead of the database's, in milliseconds.
    pub clock_ms: i64,
    /// The number of offers that were accepted since the process started.
    pub accepted: u64,
    /// The last offers that were not accepted, the oldest first.
    pub refused: Vec<Refused>,
}

/// A failure that lasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failing {
    /// Since when.
    pub since: Time,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// An offer that was not accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The time.
    pub at: Time,
    /// The offer.
    pub offer_id: Uuid,
    /// The workflow, if it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<WorkflowId>,
    /// The decision about it.
    pub decided: Decided,
    /// The role that sent it.
    pub sent_by: String,
}

impl HostState {
    /// Reads the file, if it is there and whole.
    pub fn read(mailbox: &Mailbox) -> Option<Self> {
        document::json(&disk::read(&path(mailbox), LARGEST).ok()?)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn write(&self, mailbox: &Mailbox) -> Result<()> {
        disk::create_folder(&folder(mailbox))?;
        disk::replace_unsynced(&path(mailbox), &document::to_json(self)?, SystemTime::now())
    }

    /// Adds an offer that was not accepted.
    pub fn refuse(&mut self, refused: Refused) {
        self.refused.push(Refused { sent_by: text::excerpt(&refused.sent_by, 64), ..refused });
        self.refused.drain(..self.refused.len().saturating_sub(REFUSED));
    }
}

/// The folder of these files in the mailbox.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("sync")
}

fn path(mailbox: &Mailbox) -> PathBuf {
    folder(mailbox).join("state.json")
}

/// The lock that the process of a host holds for as long as it runs.
pub fn lock_file(mailbox: &Mailbox) -> PathBuf {
    mailbox.lock_file("sync")
}

/// True if the process of a host runs on this mailbox.
pub fn is_running(mailbox: &Mailbox) -> bool {
    Lock::is_held(&lock_file(mailbox)).unwrap_or(false)
}
