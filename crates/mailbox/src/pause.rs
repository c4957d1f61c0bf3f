//! `pause.json`: the operator holds the queue. As long as the file exists, no program launches an agent. Live runs go on, and
//! questions are asked and answered as usual.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::audit::{self, Entry};
use crate::document::{SCHEMA_VERSION, Stored};
use crate::{Document, Error, Mailbox, Placed, Result, Time, disk, text, time};

/// A held queue: who holds it, since when, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    #[serde(default)]
    schema_version: u32,
    /// The time since when the queue is held.
    pub at: Time,
    /// The name of the person or program that holds the queue.
    pub by: String,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Stored for Pause {
    const LARGEST: u64 = 64 << 10;
}

impl Pause {
    /// Returns a text for people: `paused by ann 5m ago: the API is down`.
    pub fn words(&self) -> String {
        let why = self.why.as_deref().map(|why| format!(": {}", text::excerpt(why, 200))).unwrap_or_default();
        format!("paused by {} {} ago{why}", text::excerpt(&self.by, 60), time::human(time::since(self.at)))
    }
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("pause.json")
}

/// Returns how the queue is held, in words, or `None` if it is not held. A file that cannot be read holds the queue, too.
pub fn held(mailbox: &Mailbox) -> Option<String> {
    read(mailbox).unwrap_or_else(|e| Some(format!("paused: {e}")))
}

/// Fails while the queue is held. Call it before a launch.
///
/// # Errors
/// [`Error::Conflict`] if the queue is held, also by a file that is not valid. [`Error::Io`] if the system refuses to read the file.
pub fn check(mailbox: &Mailbox) -> Result<()> {
    let held = match read(mailbox) {
        Err(e @ Error::Invalid { .. }) => Some(format!("paused: {e}")),
        other => other?,
    };
    match held {
        None => Ok(()),
        Some(how) => Err(Error::conflict(format!("the queue is {how}"), ("let it go on", "relaunch go"))),
    }
}

fn read(mailbox: &Mailbox) -> Result<Option<String>> {
    Ok(Document::<Pause>::read(&path(mailbox))?.map(|pause| pause.typed.words()))
}

/// Holds the queue, durably. Returns true if it was not held before. If it was, the earlier hold stays as it is.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn hold(mailbox: &Mailbox, by: &str, why: Option<String>) -> Result<bool> {
    let why = why.map(|why| text::excerpt(&why, 1000));
    let pause = Pause { schema_version: SCHEMA_VERSION, at: time::now(), by: text::excerpt(by, 200), why };
    let is_new = disk::create(&path(mailbox), &Document::new(pause)?.to_file()?)? == Placed::Done;
    if is_new {
        audit::record(mailbox, Entry::about("queue_held").by(by));
    }
    Ok(is_new)
}

/// Lets the queue go on, durably. Returns true if it was held.
///
/// # Errors
/// [`Error::Conflict`] if `pause.json` is a folder with files in it. [`Error::Io`] if the system refuses.
pub fn release(mailbox: &Mailbox, by: &str) -> Result<bool> {
    let path = path(mailbox);
    if !disk::exists(&path) {
        return Ok(false);
    }
    if disk::metadata(&path).is_ok_and(|found| found.is_dir()) {
        disk::remove_folder_if_empty(&path);
        if disk::exists(&path) {
            let (shown, word) = (path.display(), text::path_word(&path));
            let way_out = format!("move it away: mv -n {word} {word}.aside");
            return Err(Error::conflict(format!("{shown} is a folder with files in it"), way_out));
        }
    } else {
        disk::remove(&path)?;
    }
    audit::record(mailbox, Entry::about("queue_released").by(by));
    Ok(true)
}
