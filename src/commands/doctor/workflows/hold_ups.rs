//! Reports causes that hold everything up, or the round of the only workflow. The queue may be paused by a person, after failures, or by the day's limit. The disk may be full
//! or read-only.

use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::commands::doctor::checkup::{Checkup, edit, problem, set_aside, word};
use askbox_mailbox::{Error, Folder, Mailbox, disk, time};
use askbox_run::story::queue;
use askbox_run::{Cause, HoldUp, Teller};

pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let teller = checkup.teller(&mailbox);
    let is_ahead = checkup.newest.is_some_and(|newest| newest.is_before_launch);
    if checkup.only.is_none() || (is_ahead && checkup.loaded.is_ok()) {
        queue(checkup, &teller);
    }
    disk(checkup, &teller);
    // The road of a round tells it too.
    if checkup.newest.is_none_or(|newest| !newest.waits_for_watcher) {
        let subject = checkup.only.as_ref().map_or("the watcher".to_owned(), ToString::to_string);
        report(checkup, &teller, "watcher_hangs", &subject, |hold_up| hold_up.cause == Cause::WatcherStopped);
    }
}

/// Reports a paused queue.
fn queue(checkup: &mut Checkup, teller: &Teller<'_>) {
    if let Err(error) = queue::of(teller.mailbox(), &checkup.config) {
        return checkup.report("paused", "the queue", problem(&error), mend_unknown(checkup, teller.mailbox(), &error));
    }
    // The end of a live run ends a pause without a time by itself.
    let lasts = |hold_up: &HoldUp| hold_up.until.is_some() || matches!(hold_up.cause, Cause::Held | Cause::NoProgram);
    report(checkup, teller, "paused", "the queue", |hold_up| hold_up.cause.is_of_queue() && lasts(hold_up));
}

/// Reports a general cause under this kind.
fn report(checkup: &mut Checkup, teller: &Teller<'_>, kind: &'static str, subject: &str, is_meant: impl Fn(&HoldUp) -> bool) {
    if let Some(hold_up) = teller.general().iter().find(|hold_up| is_meant(hold_up)) {
        checkup.report(kind, subject, hold_up.clause(time::rfc3339), hold_up.next.clone());
    }
}

/// The command for a queue whose state cannot be read. The breaker's file may be damaged, or the file of the day's costs.
fn mend_unknown(checkup: &Checkup, mailbox: &Mailbox, error: &Error) -> String {
    match error {
        Error::Invalid { file, .. } if !disk::is_regular(Path::new(file)) => set_aside(checkup, Path::new(file)),
        Error::Invalid { file, .. } => edit(Path::new(file)),
        _ => edit(&mailbox.root().join("breaker.json")),
    }
}

/// Reports a full disk, a filesystem that is mounted read-only, and a folder that cannot be changed, where even root cannot write. Modes and
/// owners are checked with the files.
fn disk(checkup: &mut Checkup, teller: &Teller<'_>) {
    let root = teller.mailbox().root();
    let shown = root.display().to_string();
    report(checkup, teller, "full_disk", &shown, |hold_up| hold_up.cause == Cause::FullDisk);
    report(checkup, teller, "read_only", &shown, |hold_up| hold_up.cause == Cause::ReadOnly);
    let folders = Folder::all().map(|folder| root.join(folder.name()));
    for folder in std::iter::once(root.to_path_buf()).chain(folders) {
        if rustix::fs::access(&folder, Access::WRITE_OK).err() == Some(Errno::PERM) {
            let shown = if folder == root { shown.clone() } else { checkup.shown(&folder) };
            let said = "it is marked as immutable: posts, answers and results are refused";
            checkup.report("read_only", shown, said, format!("sudo chattr -i {}", word(&folder)));
        }
    }
}
