//! Reports causes that hold everything up. The queue may be paused by a person, after failures, or by the day's limit. The disk may be full
//! or read-only.

use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::commands::doctor::checkup::{Checkup, edit, hanging, problem, word};
use crate::commands::doctor::installation::setup::startable;
use crate::commands::doctor::mailbox_files::files;
use askbox_config as config;
use askbox_mailbox::error::Error;
use askbox_mailbox::id::WorkflowId;
use askbox_mailbox::{Folder, Mailbox, disk, time};
use askbox_watch::report::summary::{self, Cause, QueueState};

/// With less free space than this, a post can hardly succeed: the largest question takes 1 MiB.
const LITTLE: u64 = 1 << 20;

pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    queue(checkup, &mailbox);
    room(checkup, &mailbox);
    read_only(checkup, &mailbox);
}

/// Reports the causes that hold up a round wherever it stands. `is_told` is true if the round's road tells that the watcher is stopped.
pub(in crate::commands::doctor) fn of_round(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId, is_told: bool) {
    room(checkup, mailbox);
    read_only(checkup, mailbox);
    let holder = disk::lock_holder(&mailbox.lock_file("watchers")).filter(|holder| checkup.watcher && holder.is_stopped && !is_told);
    if let Some(holder) = holder {
        let said = format!("the watcher does nothing for it: {}", hanging(mailbox, "watchers").0);
        checkup.report("watcher_hangs", id.as_str(), said, format!("kill -CONT {}", holder.pid));
    }
}

/// True if the queue launches nothing. A run that waits is then not stuck by itself, and a command would not start it.
pub(in crate::commands::doctor) fn is_paused(checkup: &Checkup, mailbox: &Mailbox) -> bool {
    most_runs(checkup, mailbox) == 0
}

/// The number of runs that the queue allows at the same time now.
pub(in crate::commands::doctor) fn most_runs(checkup: &Checkup, mailbox: &Mailbox) -> usize {
    match summary::queue(mailbox, &checkup.config).map(|queue| queue.state) {
        Ok(QueueState::Paused) => 0,
        Ok(QueueState::Probing) => 1,
        Ok(QueueState::Open) | Err(_) => checkup.config.relaunch.max_concurrent,
    }
}

/// Reports a paused queue.
pub(in crate::commands::doctor) fn queue(checkup: &mut Checkup, mailbox: &Mailbox) {
    let queue = match summary::queue(mailbox, &checkup.config) {
        Ok(queue) => queue,
        Err(error) => return checkup.report("paused", "the queue", problem(&error), mend_unknown(checkup, mailbox, &error)),
    };
    let (QueueState::Paused, Some(cause)) = (queue.state, queue.cause) else { return };
    let (why, mend) = (queue.why.clone().unwrap_or_default(), mend(checkup, cause));
    let said = match (cause, queue.until) {
        (Cause::Held, _) => format!("{why}; nothing is launched"),
        (Cause::NoProgram, _) => format!("{why}; nothing is launched before that"),
        (Cause::Failures | Cause::DayCost, Some(until)) => format!("{why}; nothing is launched before {}", time::rfc3339(until)),
        // The end of a live run ends this by itself.
        (Cause::Failures | Cause::DayCost | Cause::DayCostReserved, _) => return,
    };
    checkup.report("paused", "the queue", said, mend);
}

/// The command for a queue whose state cannot be read. The breaker's file may be damaged, or the file of the day's costs.
pub(in crate::commands::doctor) fn mend_unknown(checkup: &Checkup, mailbox: &Mailbox, error: &Error) -> String {
    match error {
        Error::Invalid { file, .. } if !disk::is_regular(Path::new(file)) => files::set_aside(checkup, Path::new(file)),
        Error::Invalid { file, .. } => edit(Path::new(file)),
        _ => edit(&mailbox.root().join("breaker.json")),
    }
}

/// The command that lets a paused queue go on. `relaunch go` ends a person's pause, and a pause after failures. Only the operator's
/// configuration allows more money, and a program has to be there.
pub(in crate::commands::doctor) fn mend(checkup: &Checkup, cause: Cause) -> String {
    match cause {
        Cause::Held | Cause::Failures => checkup.command("relaunch go"),
        Cause::NoProgram => match checkup.config.runner.in_use() {
            Ok(runners) => runners.first().map_or_else(String::new, |(_, runner)| startable(runner)),
            Err(_) => edit(&config::location().unwrap_or_default()),
        },
        Cause::DayCost => edit(&config::location().unwrap_or_default()),
        Cause::DayCostReserved => checkup.command("relaunch status"),
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
    let root = mailbox.root();
    let Ok(room) = rustix::fs::statvfs(root) else { return };
    let blocks = if rustix::process::geteuid().is_root() { room.f_bfree } else { room.f_bavail };
    let bytes = blocks.saturating_mul(room.f_frsize);
    // A filesystem without a fixed number of files reports 0 of 0.
    let is_out_of_names = room.f_files > 0 && room.f_ffree == 0;
    let what = match (bytes < LITTLE, is_out_of_names) {
        (true, _) => format!("{} KiB are left on its disk", bytes >> 10),
        (_, true) => "its disk can hold no more files".to_owned(),
        _ => return,
    };
    let said = format!("{what}: posts and answers are refused, and results cannot be recorded; make room there, or remove history");
    let mend = checkup.command("askbox gc");
    checkup.report("full_disk", root.display().to_string(), said, format!("df -h {path}; df -i {path}; {mend}", path = word(root)));
}
