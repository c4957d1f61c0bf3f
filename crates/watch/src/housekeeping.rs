//! Once a day, a watcher archives old rounds, as `askbox gc` does. A thread of the lowest priority does it, so answers come first. Each
//! step takes a workflow's lock by itself, and for a short time.
//!
//! `locks/archived` says when that began last: its modification time counts for all watchers of the mailbox. A mailbox without this file is
//! looked at for the first time ten minutes after a watcher has found it.
//!
//! Every six hours, a watcher also keeps the sessions that wait for an answer.

use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crate::scope::Served;
use askbox_mailbox::{Mailbox, disk, processes, thread};
use askbox_run::claim::waiting_sessions;
use askbox_run::gc::{self, Policy};

/// The time between two of these looks.
const EVERY: Duration = Duration::from_secs(86_400);
/// The time until the first one.
const FIRST: Duration = Duration::from_secs(600);

/// The time between two renewals of sessions.
const KEPT_EVERY: Duration = Duration::from_secs(6 * 3600);

/// The daily work of a watcher.
#[derive(Debug, Default)]
pub(super) struct Housekeeping {
    /// When the sessions were kept last.
    kept: Option<SystemTime>,
    /// The work in progress, or the last one.
    thread: Option<JoinHandle<()>>,
}

impl Housekeeping {
    /// Begins the work if it is time for it. Looks at the time of one file.
    pub(super) fn keep_house(&mut self, served: &Served) {
        let now = SystemTime::now();
        if served.scope.is_service() && self.kept.is_none_or(|kept| now.duration_since(kept).is_ok_and(|since| since >= KEPT_EVERY)) {
            self.kept = Some(now);
            let (mailbox, config) = (served.mailbox.clone(), served.config.clone());
            let _detached = thread::start(move || {
                processes::step_back();
                waiting_sessions::keep(&mailbox, &config);
            });
        }
        let Some(age) = served.config.history.archive.0.filter(|_| served.scope.is_service()) else { return };
        if self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let mark = served.mailbox.lock_file("archived");
        let Some(begun) = disk::metadata(&mark).ok().and_then(|meta| meta.modified().ok()) else {
            note(&mark, now - EVERY + FIRST);
            return;
        };
        // A time in the future is that of a clock that was wrong.
        if now.duration_since(begun).is_ok_and(|since| since < EVERY) {
            return;
        }
        note(&mark, now);
        let mailbox = served.mailbox.clone();
        self.thread = thread::start(move || archive(&mailbox, age.0)).ok();
    }
}

fn note(mark: &std::path::Path, at: SystemTime) {
    // If the mark cannot be written, the next look around tries it again.
    let _ = disk::replace_unsynced(mark, b"", at);
}

fn archive(mailbox: &Mailbox, age: Duration) {
    processes::step_back();
    let policy = Policy { archive: Some(age), ..Policy::default() };
    match gc::run_as("relaunch watch", mailbox, policy, &mut |_, _| {}) {
        Ok(report) => {
            let rounds = report.archived.map_or(0, |archived| archived.tally.rounds);
            if rounds > 0 {
                tracing::info!(event = "archived", rounds, "{rounds} old rounds moved to archive/");
            }
            for left in report.left.iter().filter(|left| left.is_failure) {
                tracing::warn!(event = "not_archived", subject = left.subject, "{}", left.why);
            }
        }
        Err(e) => tracing::warn!(event = "not_archived", "{e}; {}", e.hint()),
    }
}
