//! A database in a program that was built without the feature `sync`. The peer reports that, instead of an empty list.

use std::time::Duration;

use crate::peer::{Change, Peer, Problem, Progress, Stop};
use askbox_config::Config;
use askbox_mailbox::{HostName, Offer};

struct Without(String);

/// The peers of the configuration that would be reached through a database.
pub(super) fn configured(config: &Config) -> impl Iterator<Item = Box<dyn Peer>> {
    let named = config.peers.iter().filter(|(_, peer)| !peer.postgres.is_empty());
    named.map(|(name, _)| Box::new(Without(name.clone())) as Box<dyn Peer>)
}

impl Without {
    fn problem(&self) -> Problem {
        let said = format!("this askbox was built without the feature sync, which {} needs", self.0);
        Problem::lasting(said, "build it with: cargo install --profile dist --features sync")
    }
}

impl Peer for Without {
    fn name(&self) -> &str {
        &self.0
    }

    fn watch(&self, _: &dyn Fn(Change), _: &Stop) -> Problem {
        self.problem()
    }

    fn offer(&self, _: &HostName, _: &Offer, _: Duration) -> Progress {
        Progress::NotSent(self.problem())
    }
}
