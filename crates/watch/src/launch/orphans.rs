//! Processes of an earlier attempt. A thread of its own ends them, because a process that is stuck must not delay other launches.

use std::collections::HashSet;
use std::sync::mpsc::Sender;

use crate::dates::Dates;
use crate::messages::WatchMessage;
use crate::scope::Served;
use askbox_mailbox::{Folder, RoundId, thread};
use askbox_run::recovery;

/// The rounds that have a thread to end the processes of an earlier attempt.
#[derive(Debug)]
pub(super) struct Orphans {
    /// Receives the next steps of the rounds afterwards.
    sender: Sender<WatchMessage>,
    rounds: HashSet<RoundId>,
}

impl Orphans {
    pub(super) fn new(sender: Sender<WatchMessage>) -> Self {
        Self { sender, rounds: HashSet::new() }
    }

    pub(super) fn are_being_ended(&self, round: &RoundId) -> bool {
        self.rounds.contains(round)
    }

    /// Starts the thread of a round.
    pub(super) fn end(&mut self, served: &Served, dates: &mut Dates, round: &RoundId) {
        let (mailbox, config, sender, ended) = (served.mailbox.clone(), served.config.clone(), self.sender.clone(), round.clone());
        let ends = thread::start(move || {
            let recovered = recovery::recover(&mailbox, &config, &ended);
            let _ = sender.send(WatchMessage::Recovered(ended, Box::new(recovered)));
        });
        match ends {
            Ok(_) => drop(self.rounds.insert(round.clone())),
            Err(e) => dates.retry(served.mailbox.round(Folder::Running, round), &e),
        }
    }

    /// Notes that the thread of a round has reported its outcome.
    pub(super) fn ended(&mut self, round: &RoundId) {
        self.rounds.remove(round);
    }
}
