//! Reports causes that hold everything up. The queue may be paused by a person, after failures, or by the day's limit. The disk may be full
//! or read-only.

use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::commands::doctor::checkup::{Checkup, edit, problem, word};
use crate::commands::doctor::mailbox_files::files;
use askbox_mailbox::error::Error;
use askbox_mailbox::id::WorkflowId;
use askbox_mailbox::{Folder, Mailbox, disk};
use askbox_run::story::cause::{self, Cause, HoldUp};
use askbox_run::story::queue::{self, QueueState};

pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    queue(checkup, &mailbox);
    room(checkup, &mailbox);
    read_only(checkup, &mailbox);
    watcher(checkup, &mailbox, "the watcher");
}

/// Reports the causes that hold up a round wherever it stands. `is_told` is true if the round's road tells that the watcher is stopped.
pub(in crate::commands::doctor) fn of_round(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId, is_told: bool) {
    room(checkup, mailbox);
    read_only(checkup, mailbox);
    if !is_told {
        watcher(checkup, mailbox, id.as_str());
    }
}

/// Reports a watcher that is stopped.
fn watcher(checkup: &mut Checkup, mailbox: &Mailbox, subject: &str) {
    if let Some(hold_up) = cause::no_watcher(mailbox).filter(|hold_up| hold_up.cause == Cause::WatcherStopped) {
        report(checkup, "watcher_hangs", subject.to_owned(), &hold_up);
    }
}

/// True if the queue launches nothing. A run that waits is then not stuck by itself, and a command would not start it.
pub(in crate::commands::doctor) fn is_paused(checkup: &Checkup, mailbox: &Mailbox) -> bool {
    most_runs(checkup, mailbox) == 0
}

/// The number of runs that the queue allows at the same time now.
pub(in crate::commands::doctor) fn most_runs(checkup: &Checkup, mailbox: &Mailbox) -> usize {
    match queue::of(mailbox, &checkup.config).map(|queue| queue.state) {
        Ok(QueueState::Paused) => 0,
        Ok(QueueState::Probing) => 1,
        Ok(QueueState::Open) | Err(_) => checkup.config.relaunch.max_concurrent,
    }
}

/// Reports a paused queue.
pub(in crate::commands::doctor) fn queue(checkup: &mut Checkup, mailbox: &Mailbox) {
    let queue = match queue::of(mailbox, &checkup.config) {
        Ok(queue) => queue,
        Err(error) => return checkup.report("paused", "the queue", problem(&error), mend_unknown(checkup, mailbox, &error)),
    };
    // The end of a live run ends a pause without a time by itself.
    let lasts = |hold_up: &HoldUp| hold_up.until.is_some() || matches!(hold_up.cause, Cause::Held | Cause::NoProgram);
    if let Some(hold_up) = cause::of_queue(&queue, Some(&checkup.config)).filter(lasts) {
        report(checkup, "paused", "the queue".to_owned(), &hold_up);
    }
}

/// Reports a cause under this kind.
fn report(checkup: &mut Checkup, kind: &'static str, subject: String, hold_up: &HoldUp) {
    let mend = checkup.command_of(hold_up);
    checkup.report(kind, subject, hold_up.why.clone(), mend);
}

/// The command for a queue whose state cannot be read. The breaker's file may be damaged, or the file of the day's costs.
pub(in crate::commands::doctor) fn mend_unknown(checkup: &Checkup, mailbox: &Mailbox, error: &Error) -> String {
    match error {
        Error::Invalid { file, .. } if !disk::is_regular(Path::new(file)) => files::set_aside(checkup, Path::new(file)),
        Error::Invalid { file, .. } => edit(Path::new(file)),
        _ => edit(&mailbox.root().join("breaker.json")),
    }
}

/// Reports a filesystem that is mounted read-only, or a folder that cannot be changed, where even root cannot write. Modes and owners are
/// checked with the files.
fn read_only(checkup: &mut Checkup, mailbox: &Mailbox) {
    let root = mailbox.root();
    let folders = Folder::ALL.map(|folder| root.join(folder.name()));
    for folder in std::iter::once(root.to_path_buf()).chain(folders) {
        let refused = rustix::fs::access(&folder, Access::WRITE_OK).err();
        let (why, mend) = match refused {
            Some(Errno::ROFS) => {
                let place = format!("\"$(findmnt -n -o TARGET -T {})\"", word(&folder));
                ("its filesystem is mounted read-only", format!("sudo mount -o remount,rw {place}"))
            }
            Some(Errno::PERM) => ("it is marked as immutable", format!("sudo chattr -i {}", word(&folder))),
            _ => continue,
        };
        let shown = if folder == root { root.display().to_string() } else { checkup.shown(&folder) };
        checkup.report("read_only", shown, format!("{why}: posts, answers and results are refused"), mend);
        if refused == Some(Errno::ROFS) {
            return;
        }
    }
}

fn room(checkup: &mut Checkup, mailbox: &Mailbox) {
    if let Some(hold_up) = cause::no_room(mailbox) {
        report(checkup, "full_disk", mailbox.root().display().to_string(), &hold_up);
    }
}
