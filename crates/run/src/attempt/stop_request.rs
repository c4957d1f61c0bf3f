//! A request to stop a live run: the file `stop.json` in the folder of its attempt.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use askbox_mailbox::{Document, Result, Span, Stored, Time};

/// A request to stop: the content of `stop.json`.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// True if a limit stops the run, and no person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_limit: bool,
}

impl Stored for Stop {
    const LARGEST: u64 = 64 << 10;
}

/// The request to stop the run of this folder, if there is one.
pub fn read_request(folder: &Path) -> Result<Option<Stop>> {
    Ok(Document::read(&request_path(folder))?.map(|document| document.typed))
}

pub(crate) fn request_path(folder: &Path) -> PathBuf {
    folder.join("stop.json")
}
