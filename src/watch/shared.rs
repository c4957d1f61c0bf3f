//! The breaker as all watchers of a mailbox share it: `breaker.json`, read before each decision, changed under `locks/breaker`.
//! Whoever changes it reads it first, so that no watcher undoes what another one has seen.

use std::path::PathBuf;

use crate::disk::{self, Lock};
use crate::document::{Document, SCHEMA_VERSION};
use crate::error::Result;
use crate::mailbox::Mailbox;
use crate::watch::breaker::Breaker;

/// The largest `breaker.json`, in bytes.
const MAX_BREAKER: u64 = 4 << 20;

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("breaker.json")
}

/// The breaker as it stands; closed where there was none.
pub fn read(mailbox: &Mailbox) -> Result<Breaker> {
    let path = path(mailbox);
    match disk::read(&path, MAX_BREAKER) {
        Err(e) if e.is_missing_file() => Ok(Breaker::default()),
        other => Document::parse(&other?).map(|d| d.typed).map_err(|e| e.in_file(&path)),
    }
}

/// One watcher's hold on it.
#[derive(Debug)]
pub(super) struct Shared {
    mailbox: Mailbox,
    last: Breaker,
    /// The disk refused what we know. Until it takes that, we go by it: a full disk makes runs fail, which is what this is for.
    unsaved: bool,
    complained: bool,
}

impl Shared {
    pub(super) fn of(mailbox: &Mailbox) -> Self {
        Self { mailbox: mailbox.clone(), last: Breaker::default(), unsaved: false, complained: false }
    }

    /// As it stands now.
    pub(super) fn look(&mut self) -> &Breaker {
        if !self.unsaved {
            match read(&self.mailbox) {
                Ok(breaker) => {
                    self.last = breaker;
                    self.complained = false;
                }
                // One that cannot be read is as good as the last one that could: at worst some runs are launched that fail.
                Err(e) => self.complain(&e),
            }
        }
        &self.last
    }

    /// Changes it, alone.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let lock = Lock::acquire(&self.mailbox.lock_file("breaker"));
        let mut breaker = self.look().clone();
        let told = change(&mut breaker);
        if breaker != self.last || self.unsaved {
            breaker.schema_version = SCHEMA_VERSION;
            let written = lock.as_ref().map_err(|e| e.to_string()).and_then(|_held| {
                let document = Document::new(breaker.clone()).map_err(|e| e.to_string())?;
                disk::replace(&path(&self.mailbox), &document.to_bytes()).map_err(|e| e.to_string())
            });
            self.unsaved = written.is_err();
            if let Err(e) = written {
                tracing::error!("breaker.json cannot be written, and other watchers do not know of this: {e}");
            }
            self.last = breaker;
        }
        told
    }

    fn complain(&mut self, e: &crate::Error) {
        // Once, not at every look.
        if !std::mem::replace(&mut self.complained, true) {
            crate::log::error(e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::breaker::{Permit, Settings};
    use super::*;
    use crate::time;
    use std::time::Duration;

    #[test]
    fn many_who_change_it_at_once_lose_nothing_and_one_of_them_gets_the_probe() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let settings = Settings { failures: 40, window: Duration::from_secs(600), pause: Duration::ZERO };
        let opened: usize = std::thread::scope(|scope| {
            let watchers: Vec<_> = (0..4)
                .map(|watcher| {
                    let mut shared = Shared::of(&mailbox);
                    scope.spawn(move || {
                        let failed = |n| format!("w{watcher}/q/{n}");
                        let told = |n: i32| shared.change(|b| b.failed(&failed(n), time::now(), settings, time::now()));
                        (0..10).map(told).filter(|c| *c == super::super::breaker::Change::Opened).count()
                    })
                })
                .collect();
            watchers.into_iter().map(|w| w.join().unwrap()).sum()
        });
        assert_eq!((opened, read(&mailbox).unwrap().failures.len()), (1, 40));
        let probes: usize = std::thread::scope(|scope| {
            let watchers: Vec<_> = (0..4)
                .map(|watcher| {
                    let mut shared = Shared::of(&mailbox);
                    scope.spawn(move || {
                        shared.change(|b| b.permit(time::now()) == Permit::One && b.launched(&format!("p{watcher}/q/1"), time::now()))
                    })
                })
                .collect();
            watchers.into_iter().map(|w| usize::from(w.join().unwrap())).sum()
        });
        assert_eq!(probes, 1);
    }
}
