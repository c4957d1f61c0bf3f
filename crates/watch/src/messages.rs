//! The messages that wake a watcher, its options, and the reasons why it stops.

use std::time::Duration;

use crate::scope::Scope;
use askbox_mailbox::{Hint, Lock, Result, RoundId, Timer};
use askbox_run::recovery::Recovered;

/// A message that wakes a watcher.
pub enum WatchMessage {
    /// Something in the mailbox may have changed.
    Hint(Hint),
    /// The run of a round has ended.
    RunEnded(RoundId),
    /// The outcome of a recovery that had to wait for processes of an earlier attempt.
    Recovered(RoundId, Box<Result<Recovered>>),
    /// Something may have happened to the file that a question waits for.
    AwaitedFile(Hint),
    /// The result of a look: true if the file of the timer's question is there.
    Looked(Box<Timer>, bool),
    /// The watcher is the second of its mailbox now: see [`Turn`](crate::connection).
    Second(Lock),
    /// Stop watching. Runs go on.
    Stop,
}

/// The options of a watcher.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Look at every file this often, instead of waiting for file events.
    pub poll: Option<Duration>,
    /// Which workflows to serve.
    pub scope: Scope,
}

/// The reason why a watcher stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It received [`WatchMessage::Stop`].
    Stopped,
    /// The mailbox was moved, removed or unmounted.
    MailboxGone,
    /// Others may write to the mailbox now, or it is no longer this user's.
    NotTrusted,
    /// It served one tree, and a watcher service has started.
    ToService,
}
