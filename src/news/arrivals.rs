//! When a target was last told something, could last not be told, and when a person last confirmed that something arrived: three small
//! files a target, `news/TARGET.sent.json`, `news/TARGET.failed.json` and `news/TARGET.confirmed.json`. `askbox doctor` shows them.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::document;
use crate::error::Result;
use crate::mailbox::Mailbox;
use crate::news::events::ledger::FOLDER;
use crate::time::{self, Time};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// What is noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The target took an event.
    Sent,
    /// It could not be told.
    Failed,
    /// A person said that it arrived: `askbox notify test`.
    Confirmed,
}

/// The last time that it was so.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

fn path(mailbox: &Mailbox, target: &str, kind: Kind) -> PathBuf {
    let kind = match kind {
        Kind::Sent => "sent",
        Kind::Failed => "failed",
        Kind::Confirmed => "confirmed",
    };
    mailbox.root().join(FOLDER).join(format!("{target}.{kind}.json"))
}

/// Notes that it is so now.
///
/// # Errors
/// Those of writing the file.
pub fn note(mailbox: &Mailbox, target: &str, kind: Kind, problem: Option<&str>) -> Result<()> {
    disk::touch_folder(&mailbox.root().join(FOLDER))?;
    let arrival = Arrival { at: time::now(), problem: problem.map(|problem| crate::text::excerpt(problem, 300)) };
    disk::replace_unsynced(&path(mailbox, target, kind), &document::to_json(&arrival)?, SystemTime::now())
}

/// The last time that it was so; `None` if it never was.
#[must_use]
pub fn last(mailbox: &Mailbox, target: &str, kind: Kind) -> Option<Arrival> {
    document::json(&disk::read(&path(mailbox, target, kind), LONGEST).ok()?)
}
