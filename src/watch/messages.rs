//! What wakes a watcher, how it is configured, and why it stopped.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use crate::disk::file_events::Hint;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::due::timers::Timer;
use crate::run::recovery::Recovered;
use crate::watch::scope::Scope;

/// What wakes a watcher.
#[derive(Debug)]
pub enum WatchMessage {
    /// Something in the mailbox may have changed.
    Hint(Hint),
    /// The run of a round has ended.
    RunEnded(RoundId),
    /// The outcome of a recovery that had to wait for processes of an earlier attempt.
    Recovered(RoundId, Box<Result<Recovered>>),
    /// Something may have happened to a file that a question waits for.
    AwaitedFile(Hint),
    /// Whether the file is there that the timer's question waits for.
    Looked(Box<Timer>, bool),
    /// Stop watching. Runs go on.
    Stop,
}

/// A channel of messages to a watcher.
#[must_use]
pub fn channel() -> (Sender<WatchMessage>, Receiver<WatchMessage>) {
    mpsc::channel()
}

/// How to watch.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Look at every file this often, instead of waiting for file events.
    pub poll: Option<Duration>,
    /// Which workflows to serve.
    pub scope: Scope,
}

/// Why a watcher stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It received [`WatchMessage::Stop`].
    Stopped,
    /// The mailbox was moved, removed or unmounted.
    MailboxGone,
    /// Others may write to the mailbox now, or it is no longer this user's.
    NotTrusted,
    /// It served one tree, and a watcher service has come.
    ToService,
}
