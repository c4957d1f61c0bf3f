//! The kinds of causes why a round stands still, with who can change each, and the words for a corner of the screen.

use serde::Serialize;

/// Why a round stands still, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The mailbox's disk has no room.
    FullDisk,
    /// The mailbox cannot be written: its filesystem is mounted read-only.
    ReadOnly,
    /// The configuration cannot be read, so that no agent is launched.
    Configuration,
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
    /// The watcher began with another configuration, and leaves the answer alone.
    OlderWatcher,
    /// A watcher runs and leaves the answer alone.
    WatcherHangs,
    /// The queue tries one run before it goes on.
    Probing,
    /// As many runs are live as `relaunch.max_concurrent` allows.
    MaxConcurrent,
    /// An earlier round of the workflow is not over.
    EarlierRound,
    /// The session that asked still works for another workflow.
    AskerRuns,
    /// The operator's configuration does not count the answer. A watcher refuses it, and the question waits again.
    NotCounted,
    /// A command was interrupted while it took an answer back.
    HalfDone,
    /// A person has to answer.
    Person,
    /// The question waits for a date.
    Date,
    /// The question waits for a file.
    File,
    /// The workflows that it started are not over.
    Child,
    /// The process that waits for the answer takes it, and has not done so yet.
    Asker,
    /// A signal or a debugger has stopped the process that waits for the answer.
    AskerStopped,
    /// The session that asked takes the answer the next time it goes on.
    Session,
    /// The session of Codex that asked is not told of the answer.
    NotTold,
    /// The answer was sent to a session's dialog, and nobody has told if the session took it.
    NotKnownYet,
    /// An attempt failed, and the next one starts at a time.
    Retry,
    /// The agent's API throttled the run.
    Throttled,
    /// The supervisor is gone. A watcher recovers the run.
    Orphaned,
    /// The run's process may live where this one does not see it, as in a container.
    Elsewhere,
    /// The agent's working folder does not exist, or cannot be entered.
    Folder,
    /// A limit of the operator's configuration ended the run.
    Limit,
    /// The attempts failed. A person decides how to go on.
    Failed,
    /// A person or a limit of time stopped the run.
    Stopped,
    /// An attempt that failed may have made a call that is made at most once. A person says if it was made.
    MayHaveRun,
    /// A file of the round cannot be read.
    Unreadable,
}

/// Who can change a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// Whoever answers: a person, or a main agent.
    Person,
    /// Whoever runs the watcher and owns its configuration.
    Operator,
    /// The process or the session that asked.
    Asker,
    /// Another run, whose end changes it.
    Run,
    /// The clock, or a file.
    Event,
    /// The watcher.
    Watcher,
}

impl Cause {
    /// Returns who can change it.
    pub fn waits_for(self) -> WaitsFor {
        match self {
            Self::FullDisk | Self::ReadOnly | Self::Configuration | Self::NoProgram | Self::DayCost => WaitsFor::Operator,
            Self::NoWatcher | Self::WatcherStopped | Self::OlderWatcher | Self::WatcherHangs | Self::Limit => WaitsFor::Operator,
            Self::Held | Self::HalfDone | Self::Person | Self::Folder | Self::Failed => WaitsFor::Person,
            Self::Stopped | Self::AskerStopped | Self::MayHaveRun | Self::Unreadable => WaitsFor::Person,
            Self::Probing | Self::DayCostReserved | Self::MaxConcurrent | Self::EarlierRound | Self::AskerRuns | Self::Child => {
                WaitsFor::Run
            }
            Self::Asker | Self::Session | Self::NotKnownYet | Self::NotTold => WaitsFor::Asker,
            Self::Failures | Self::Date | Self::File | Self::Retry | Self::Throttled => WaitsFor::Event,
            Self::NotCounted | Self::Orphaned | Self::Elsewhere => WaitsFor::Watcher,
        }
    }

    /// True if it keeps an answer from starting its agent until somebody changes it. The other causes end by themselves.
    pub fn is_in_the_way(self) -> bool {
        let ends_by_itself = matches!(self, Self::Probing | Self::MaxConcurrent | Self::EarlierRound | Self::AskerRuns);
        !ends_by_itself && !matches!(self, Self::OlderWatcher | Self::WatcherHangs | Self::MayHaveRun)
    }

    /// True if it is about the queue, and holds every launch up.
    pub fn is_of_queue(self) -> bool {
        matches!(self, Self::Held | Self::Failures | Self::NoProgram | Self::DayCost | Self::DayCostReserved)
    }

    /// The words for a row of a list, or for the corner of a screen. `None` if the round's own reason says more.
    pub fn in_short(self) -> Option<&'static str> {
        Some(match self {
            Self::FullDisk => "the disk is full",
            Self::ReadOnly => "mounted read-only",
            Self::Configuration => "the configuration is broken",
            Self::NoProgram => "no agent can be started",
            Self::NoWatcher => "no watcher runs",
            Self::WatcherStopped => "the watcher is stopped",
            Self::OlderWatcher => "the watcher needs a restart",
            Self::WatcherHangs => "the watcher hangs",
            Self::AskerStopped => "its asker is stopped",
            Self::NotTold => "the session is not told",
            Self::Held | Self::Failures | Self::DayCost | Self::DayCostReserved => "the queue is paused",
            Self::Probing => "the queue tries one run",
            Self::MaxConcurrent => "other runs are live",
            Self::NotCounted => "the answer does not count",
            Self::HalfDone => "its answer was half taken back",
            _ => return None,
        })
    }
}
