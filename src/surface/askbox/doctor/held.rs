//! What holds everything up: the queue is paused, by a person, after failures or by the day's limit; or the disk is full.

use crate::config;
use crate::mailbox::{Mailbox, pause};
use crate::surface::askbox::doctor::checkup::{Checkup, edit, problem, word};
use crate::time;
use crate::watch::breaker::shared_file;
use crate::watch::breaker::state_machine::State;
use crate::watch::report::summary::{self, QueueState};

/// Room below which a post can hardly succeed: the largest question takes 1 MiB.
const LITTLE: u64 = 1 << 20;

pub(super) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    queue(checkup, &mailbox);
    disk(checkup, &mailbox);
}

/// Whether the queue launches nothing, so that no run is stuck by itself and no command starts one.
pub(super) fn is_paused(checkup: &Checkup, mailbox: &Mailbox) -> bool {
    summary::queue(mailbox, &checkup.config).is_ok_and(|queue| queue.state == QueueState::Paused)
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
