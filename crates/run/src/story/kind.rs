//! The kinds of causes, and their words for programs and for the corner of a screen.

use serde::Serialize;

/// The kind of cause, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The mailbox's disk has no room.
    FullDisk,
    /// The mailbox cannot be written: its filesystem is mounted read-only.
    ReadOnly,
    /// A person holds the queue with `relaunch pause`. `relaunch go` ends that.
    Held,
    /// Runs failed one after the other. `relaunch go` tries one at once.
    Failures,
    /// No runner's program can be started, or the one of this workflow cannot.
    NoProgram,
    /// The day's limit on money is spent.
    DayCost,
    /// Live runs have reserved all that is left of the day's limit.
    DayCostReserved,
    /// No watcher runs.
    NoWatcher,
    /// A signal or a debugger has stopped the watcher.
    WatcherStopped,
    /// The session of Codex that asked is not told of the answer.
    NotTold,
}

impl Cause {
    /// True if `relaunch go` lets runs be launched at once.
    #[must_use]
    pub fn ends_with_go(self) -> bool {
        matches!(self, Self::Held | Self::Failures)
    }

    /// The words for the corner of a screen.
    #[must_use]
    pub fn in_short(self) -> &'static str {
        match self {
            Self::FullDisk => "the disk is full",
            Self::ReadOnly => "mounted read-only",
            Self::Held | Self::Failures | Self::DayCost | Self::DayCostReserved => "the queue is paused",
            Self::NoProgram => "no agent can be started",
            Self::NoWatcher => "no watcher runs",
            Self::WatcherStopped => "the watcher is stopped",
            Self::NotTold => "the session is not told",
        }
    }
}
