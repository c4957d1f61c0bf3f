//! The messages of one run: everything that the attending thread reacts to arrives as a `RunMessage` on one channel.

use std::sync::mpsc::{self, Receiver, SyncSender};

use crate::supervise::ladder::StopRequest;
use askbox_agent::program::Exit;
use askbox_agent::stream::StreamItem;

/// How many messages the channel holds. While it is full, the thread that reads the agent's output waits. The agent then waits too,
/// once its pipe is full. So memory stays bounded, however much the agent prints.
const CAPACITY: usize = 16;

/// One message to the attending thread.
#[derive(Debug)]
pub(crate) enum RunMessage {
    /// The agent's output, in order.
    Output(Vec<StreamItem>),
    /// The agent has closed its standard output.
    OutputEnded,
    /// The agent's process has ended.
    Exited(Exit),
    /// Stop the run.
    Stop(StopRequest),
    /// `stop.json` may have been written: look for it.
    CheckStopRequest,
}

/// The channel of one run.
pub(crate) fn channel() -> (SyncSender<RunMessage>, Receiver<RunMessage>) {
    mpsc::sync_channel(CAPACITY)
}

/// Asks a running [`supervise`](crate::supervise::supervisor::supervise) to stop; for use by another thread.
#[derive(Debug, Clone)]
pub struct Stopper(SyncSender<RunMessage>);

impl Stopper {
    pub(crate) fn new(channel: SyncSender<RunMessage>) -> Self {
        Self(channel)
    }

    /// Starts the [interrupt ladder](crate::supervise::ladder). Waits while the channel is full, so that a flood of output
    /// cannot swallow the request. Does nothing if the run is over.
    pub fn stop(&self, request: StopRequest) {
        let _ = self.0.send(RunMessage::Stop(request));
    }
}
