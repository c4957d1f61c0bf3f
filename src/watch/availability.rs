//! A mailbox that does not exist yet, was moved, is unmounted, or is not to be trusted.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::disk;
use crate::disk::file_events::{Hint, Hints};
use crate::error::{Error, Result};
use crate::log;
use crate::mailbox::{Folder, Mailbox};
use crate::watch::messages::{Options, WatchMessage};

/// The longest time between two looks for a missing mailbox: mounting and unmounting send no file events.
const RECHECK_EVERY: Duration = Duration::from_secs(30);

/// The folders whose file events a watcher needs.
pub(super) const WATCHED: [Folder; 6] =
    [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Timers, Folder::Awaits];

/// Device and inode of the mailbox and of each watched folder.
pub(super) type Identity = Vec<(u64, u64)>;

/// The mailbox's identity; `None` if a folder is missing. If it changes, another folder has taken the name, and the events of the
/// old one no longer say anything about it.
pub(super) fn identity(root: &Path) -> Option<Identity> {
    let folders = WATCHED.iter().map(|f| root.join(f.name()));
    let one = |path: &Path| std::fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
    std::iter::once(root.to_path_buf()).chain(folders).map(|path| one(&path)).collect()
}

/// Whether the mailbox may still be used: what is answered in a folder that others may write to could be anybody's answer.
pub(super) fn is_trusted(root: &Path) -> bool {
    let folders = WATCHED.iter().map(|f| root.join(f.name()));
    std::iter::once(root.to_path_buf()).chain(folders).all(|path| disk::check_folder(&path).is_ok())
}

/// Whether a hint is about a file beside the watched folders, such as a new line of `audit.jsonl`.
pub(super) fn is_noise(root: &Path, hint: &Hint) -> bool {
    let Hint::At(path) = hint else { return false };
    path.parent() == Some(root) && !WATCHED.iter().any(|f| path.ends_with(f.name()))
}

/// Waits until the mailbox exists and is to be trusted; `waiting` is called when the wait begins. `None` if a message says stop first. The watcher never creates the mailbox folder itself: while
/// the real one is not mounted, that would create a second mailbox below the mount point.
pub fn wait_for_mailbox(
    root: &Path,
    options: &Options,
    messages: &Receiver<WatchMessage>,
    sender: &Sender<WatchMessage>,
    mut waiting: impl FnMut(),
) -> Result<Option<Mailbox>> {
    // What was logged last; a person may have to be told several reasons in turn.
    let mut logged = String::new();
    loop {
        let to = sender.clone();
        let from_events = || {
            Hints::new(move |hint| {
                let _ = to.send(WatchMessage::Hint(hint));
            })
        };
        let mut hints = if options.poll.is_none() { from_events().ok() } else { None };
        // The nearest existing folder above the mailbox, because every missing folder is created below it; and an empty one in its place.
        if let (Some(hints), Some(above)) = (&mut hints, root.ancestors().skip(1).find(|p| p.is_dir())) {
            let _ = hints.watch(above);
            let _ = hints.watch(root);
        }
        let error = match Mailbox::open(root) {
            Ok(mailbox) => {
                if let Some(said) = mailbox.tightened() {
                    tracing::warn!("{said}");
                }
                mailbox.complete()?;
                mailbox.make_durable()?;
                return Ok(Some(mailbox));
            }
            Err(e @ Error::Usage { .. }) => return Err(e),
            Err(e) => e,
        };
        if logged.is_empty() {
            waiting();
        }
        let said = error.to_string();
        if logged != said {
            match &error {
                Error::NotFound { .. } => tracing::info!("waiting for the mailbox {}", root.display()),
                _ => log::error(&Error::failed(format!("waiting for a usable mailbox: {said}"), error.hint())),
            }
            logged = said;
        }
        match messages.recv_timeout(options.poll.unwrap_or(RECHECK_EVERY)) {
            Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
