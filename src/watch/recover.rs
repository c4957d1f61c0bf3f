//! Claimed rounds that nobody supervises. What can be said at once is said here; orphans that must be waited for, or killed, get
//! a thread of their own, so that a stuck one holds up nobody else's launch.

use std::time::Duration;

use crate::disk::Lock;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Folder;
use crate::mailbox::timers::{Due, Timer};
use crate::run::claim::record;
use crate::run::claim::recovery::{self, Recovered};
use crate::time;
use crate::watch::{Input, Watch};

/// A claim this young is its claimer's to launch, not ours to recover.
const CLAIM_GRACE: Duration = Duration::from_secs(3);

impl Watch<'_> {
    pub(super) fn recover(&mut self, round: &RoundId) {
        if !self.recovering.contains(round) {
            let recovered = recovery::recover_at_once(&self.mailbox, &self.config, round);
            self.recovered(round, recovered);
        }
    }

    pub(super) fn recovered(&mut self, round: &RoundId, recovered: Result<Recovered>) {
        let path = self.mailbox.round(Folder::Running, round);
        match recovered {
            Ok(Recovered::Live) => self.attach(round),
            Ok(Recovered::Later(at)) => {
                self.timers.insert(Timer { at, due: Due::Retry, round: round.clone() });
            }
            Ok(Recovered::Launch(run)) => self.ready.push_back(*run),
            Ok(Recovered::Claimed(run)) => {
                let age = time::since(run.claimed_at);
                if self.ready.iter().any(|r| r.round() == *round) {
                    // Ours; it waits for its turn.
                } else if age < CLAIM_GRACE {
                    self.look_later(path, CLAIM_GRACE - age);
                } else {
                    self.ready.push_back(*run);
                }
            }
            Ok(Recovered::Orphans) => self.end_orphans(round),
            Ok(Recovered::Over) => {}
            Err(e) => {
                self.tell(&e);
                self.look_later(path, Duration::from_secs(10));
            }
        }
    }

    fn end_orphans(&mut self, round: &RoundId) {
        self.recovering.insert(round.clone());
        let (mailbox, config, sender, round) = (self.mailbox.clone(), self.config.clone(), self.sender.clone(), round.clone());
        std::thread::spawn(move || {
            let recovered = recovery::recover(&mailbox, &config, &round);
            let _ = sender.send(Input::Recovered(round, Box::new(recovered)));
        });
    }

    /// Whether somebody owns the round's run.
    pub(super) fn is_live(&self, round: &RoundId) -> bool {
        Lock::is_held(&record::lock_path(&self.mailbox, round)).unwrap_or(false)
    }
}
