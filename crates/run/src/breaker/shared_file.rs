//! The breaker as all watchers of a mailbox share it: `breaker.json`, read before each decision and changed under `locks/breaker`.
//! Every change reads the file first, so that no watcher undoes the change of another.

use std::path::PathBuf;

use crate::breaker::state_machine::{Breaker, Settings};
use crate::log;
use askbox_mailbox::document::SCHEMA_VERSION;
use askbox_mailbox::{Document, Error, Lock, Mailbox, Result, Stored, disk, time};

impl Stored for Breaker {
    const LARGEST: u64 = 4 << 20;
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("breaker.json")
}

/// Reads the breaker. It is closed if there is no file.
pub fn read(mailbox: &Mailbox) -> Result<Breaker> {
    Ok(Document::read(&path(mailbox))?.map(|document| document.typed).unwrap_or_default())
}

/// Ends the pause after failures, so that one run may be tried now. Returns why the queue was paused.
///
/// # Errors
/// If the file cannot be read or written.
pub fn try_now(mailbox: &Mailbox, settings: Settings) -> Result<Option<String>> {
    read(mailbox)?;
    let mut shared = SharedBreaker::of_mailbox(mailbox);
    let why = shared.change(|breaker| breaker.try_now(settings, time::now()));
    if why.is_some() && shared.unsaved {
        return Err(Error::failed(format!("{} cannot be written", path(mailbox).display()), "see why: df, and ls -l of the mailbox"));
    }
    Ok(why)
}

/// One watcher's access to the file.
pub struct SharedBreaker {
    mailbox: Mailbox,
    /// The breaker as it was last read or changed.
    last: Breaker,
    /// True if the disk refused the last change. Until the disk accepts a change, this watcher uses `last`: a full disk makes runs
    /// fail, and then the breaker matters most.
    unsaved: bool,
    /// True if the last read failed, and that was logged.
    read_error_logged: bool,
}

impl SharedBreaker {
    /// The breaker of a mailbox.
    pub fn of_mailbox(mailbox: &Mailbox) -> Self {
        Self { mailbox: mailbox.clone(), last: Breaker::default(), unsaved: false, read_error_logged: false }
    }

    /// The breaker as the file has it now. If the file cannot be read, the last state counts. In the worst case, some runs are launched
    /// and fail.
    pub fn read(&mut self) -> &Breaker {
        if !self.unsaved {
            match read(&self.mailbox) {
                Ok(breaker) => {
                    self.last = breaker;
                    self.read_error_logged = false;
                }
                Err(e) => {
                    if !std::mem::replace(&mut self.read_error_logged, true) {
                        log::error(&e);
                    }
                }
            }
        }
        &self.last
    }

    /// Changes the breaker under its lock. Returns what `change` returns.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let lock = Lock::acquire_with(&self.mailbox.lock_file("breaker"), self.mailbox.patience());
        let mut breaker = self.read().clone();
        let result = change(&mut breaker);
        if breaker != self.last || self.unsaved {
            breaker.schema_version = SCHEMA_VERSION;
            let written = lock.as_ref().map_err(|e| e.to_string()).and_then(|_held| {
                let file = Document::new(breaker.clone()).and_then(|document| document.to_file()).map_err(|e| e.to_string())?;
                disk::replace(&path(&self.mailbox), &file).map_err(|e| e.to_string())
            });
            let was_unsaved = std::mem::replace(&mut self.unsaved, written.is_err());
            if let Some(e) = written.err().filter(|_| !was_unsaved) {
                tracing::error!("breaker.json cannot be written, and other watchers do not know of this: {e}");
            }
            self.last = breaker;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::state_machine::{BreakerPermit, Change};
    use std::time::Duration;

    #[test]
    fn watchers_at_once_lose_no_failure_and_one_of_them_probes() {
        // In memory, because each change is written to the disk while the other watchers wait for the lock.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let settings = Settings { failures: 40, window: Duration::from_secs(600), pause: Duration::ZERO };
        let opened: usize = std::thread::scope(|scope| {
            let watchers: Vec<_> = (0..4)
                .map(|watcher| {
                    let mut shared = SharedBreaker::of_mailbox(&mailbox);
                    scope.spawn(move || {
                        let failed = |n| format!("w{watcher}/q/{n}");
                        let report = |n: i32| shared.change(|b| b.failed(&failed(n), time::now(), settings, time::now()));
                        (0..10).map(report).filter(|c| *c == Change::Opened).count()
                    })
                })
                .collect();
            watchers.into_iter().map(|w| w.join().unwrap()).sum()
        });
        assert_eq!((opened, read(&mailbox).unwrap().failures.len()), (1, 40));
        let probes: usize = std::thread::scope(|scope| {
            let watchers: Vec<_> = (0..4)
                .map(|watcher| {
                    let mut shared = SharedBreaker::of_mailbox(&mailbox);
                    scope.spawn(move || {
                        shared.change(|b| {
                            b.permit(settings, time::now()) == BreakerPermit::One && b.launched(&format!("p{watcher}/q/1"), time::now())
                        })
                    })
                })
                .collect();
            watchers.into_iter().map(|w| usize::from(w.join().unwrap())).sum()
        });
        assert_eq!(probes, 1);
    }
}
