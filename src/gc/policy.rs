//! What a gc is asked to do, and what it reports.

use std::time::Duration;

use serde::Serialize;

use crate::time::Span;

/// What a gc is to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// Rounds that ended less long ago are kept. `None`: all are kept, and only what an interrupted gc left is removed.
    pub keep: Option<Duration>,
    /// Report what would be removed, and remove nothing.
    pub dry_run: bool,
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Whether this was a dry run, which removes nothing.
    pub dry_run: bool,
    /// The age below which rounds were kept; missing if all were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Span>,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of workflows of which nothing is left.
    pub workflows: u64,
    /// The number of their checkpoints in `checkpoints/`.
    pub checkpoints: u64,
    /// The freed bytes; missing in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// In a dry run, the files that would be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_go: Vec<String>,
    /// What could not be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Left>,
}

/// Something that could not be removed.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    /// The workflow or the round.
    pub subject: String,
    /// Why.
    pub why: String,
    /// Whether the system refused. Otherwise another process was using it.
    #[serde(skip)]
    pub is_failure: bool,
}
