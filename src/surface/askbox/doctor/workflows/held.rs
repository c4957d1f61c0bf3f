//! What holds everything up: the queue is paused, by a person, after failures or by the day's limit; or the
//! disk is full or read-only.

use rustix::fs::Access;
use rustix::io::Errno;

use crate::config;
use crate::mailbox::{Folder, Mailbox, pause};
use crate::surface::askbox::doctor::checkup::{Checkup, edit, problem, word};
use crate::time;
use crate::watch::breaker::shared_file;
use crate::watch::breaker::state_machine::State;
use crate::watch::report::summary::{self, QueueState};

/// Room below which a post can hardly succeed: the largest question takes 1 MiB.
const LITTLE: u64 = 1 << 20;

pub(in crate::surface::askbox::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    queue(checkup, &mailbox);
    disk(checkup, &mailbox);
    read_only(checkup, &mailbox);
}

/// Whether the queue launches nothing, so that no run is stuck by itself and no command starts one.
pub(in crate::surface::askbox::doctor) fn is_paused(checkup: &Checkup, mailbox: &Mailbox) -> bool {
    most_runs(checkup, mailbox) == 0
}

/// How many runs the queue allows at the same time now.
pub(in crate::surface::askbox::doctor) fn most_runs(checkup: &Checkup, mailbox: &Mailbox) -> usize {
    match summary::queue(mailbox, &checkup.config).map(|queue| queue.state) {
        Ok(QueueState::Paused) => 0,
        Ok(QueueState::Probing) => 1,
        Ok(QueueState::Open) | Err(_) => checkup.config.relaunch.max_concurrent,
    }
}

fn queue(checkup: &mut Checkup, mailbox: &Mailbox) {
    let go = checkup.command("relaunch go");
    if let Some(how) = pause::held(mailbox) {
        return checkup.report("paused", "the queue", format!("{how}; nothing is launched"), go);
    }
    let queue = match summary::queue(mailbox, &checkup.config) {
        Ok(queue) => queue,
        Err(error) => return checkup.report("paused", "the queue", problem(&error), edit(&mailbox.root().join("breaker.json"))),
    };
    let (QueueState::Paused, Some(until)) = (queue.state, queue.until) else { return };
    let why = queue.why.unwrap_or_default();
    let is_breaker = shared_file::read(mailbox).is_ok_and(|b| matches!(b.state, State::Open { .. }));
    // `relaunch go` ends the pause after failures; only the operator's file allows more money.
    let mend = if is_breaker { go } else { edit(&config::location().unwrap_or_default()) };
    checkup.report("paused", "the queue", format!("{why}; nothing is launched before {}", time::rfc3339(until)), mend);
}

/// A filesystem that is mounted read-only, or a folder that nothing may be changed in: not even root can write there. Modes and owners are
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

fn disk(checkup: &mut Checkup, mailbox: &Mailbox) {
    let root = mailbox.root();
    let Ok(room) = rustix::fs::statvfs(root) else { return };
    let blocks = if rustix::process::geteuid().is_root() { room.f_bfree } else { room.f_bavail };
    let bytes = blocks.saturating_mul(room.f_frsize);
    // Filesystems without a number of files of their own say 0 of 0.
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
