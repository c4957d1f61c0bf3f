//! Posts in `pending/` that a crash interrupted, and temporary files of killed programs.

use std::time::Duration;

use crate::mailbox::family::lineage;
use crate::mailbox::listing::list;
use crate::mailbox::transitions::retire;
use crate::mailbox::{Folder, Mailbox};
use crate::watch::dates::{Dates, pause_after};
use crate::watch::served::Served;
use crate::{disk, log, thread};

/// Temporary files of killed writers are removed once they are this old.
const LEFT_OVER_AGE: Duration = Duration::from_secs(3600);

/// Completes the posts in `pending/` that a crash interrupted.
pub(in crate::watch) fn complete_all(served: &Served, dates: &mut Dates) {
    for name in list::hidden_names(&served.mailbox, Folder::Pending).unwrap_or_default() {
        complete(served, dates, &name);
    }
}

/// Completes one of them; `name` is a hidden name in `pending/`.
pub(in crate::watch) fn complete(served: &Served, dates: &mut Dates, name: &str) {
    match retire::roll_forward(&served.mailbox, name) {
        Err(e) if e.is_held() => dates.look_later(served.mailbox.folder(Folder::Pending).join(name), pause_after(&e)),
        Err(e) => log::error(&e),
        Ok(()) => {}
    }
}

/// Makes the names of the children in a mailbox from before them, and removes temporary files of killed writers, in a thread of its
/// own: this reads every folder.
pub(in crate::watch) fn remove_left_over_files(mailbox: &Mailbox) {
    let mailbox = mailbox.clone();
    let sweeps = thread::start(move || {
        if let Err(e) = lineage::make_names(&mailbox) {
            log::error(&e);
        }
        let depth = |folder| if folder == Folder::Runs { 3 } else { usize::from(folder == Folder::Awaits) };
        let mut removed = disk::sweep(mailbox.root(), 0, LEFT_OVER_AGE);
        for folder in Folder::ALL {
            removed.extend(disk::sweep(&mailbox.folder(folder), depth(folder), LEFT_OVER_AGE));
        }
        for path in removed {
            tracing::info!(event = "swept", "{}: left by a program that died", path.display());
        }
    });
    // The next watcher removes them then.
    if let Err(e) = sweeps {
        log::error(&e);
    }
}
