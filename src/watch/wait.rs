//! A mailbox that does not exist yet, is unmounted or was moved: wait for it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::disk::hints::{Hint, Hints};
use crate::error::{Error, Result};
use crate::mailbox::{Folder, Mailbox};
use crate::watch::{Input, Left, Options};

/// How long at most until it is looked for again, where no event comes: an unmount sends none.
const LOOK: Duration = Duration::from_secs(30);

/// The folders whose events the watcher wants.
pub(super) const WATCHED: [Folder; 6] =
    [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Timers, Folder::Awaits];

/// Device and inode of the mailbox and of the folders that are watched.
pub(super) type Identity = Vec<(u64, u64)>;

/// A folder of the same name that is another one is another mailbox, and sends its events to nobody.
pub(super) fn identity(root: &Path) -> Option<Identity> {
    let folders = WATCHED.iter().map(|f| root.join(f.name()));
    let one = |path: &Path| std::fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
    std::iter::once(root.to_path_buf()).chain(folders).map(|path| one(&path)).collect()
}

/// What happens beside the watched folders, such as a new line of `audit.jsonl`.
pub(super) fn is_noise(root: &Path, hint: &Hint) -> bool {
    let Hint::At(path) = hint else { return false };
    path.parent() == Some(root) && !WATCHED.iter().any(|f| path.ends_with(f.name()))
}

/// Returns the mailbox once it exists; [`Left::Stopped`] where the watcher is told to stop first. The watcher never makes the
/// mailbox itself: under an unmounted folder it would make a second one.
pub fn wait_for_mailbox(root: &Path, options: &Options, inputs: &Receiver<Input>, sender: &Sender<Input>) -> Result<Result<Mailbox, Left>> {
    let mut told = false;
    loop {
        let to = sender.clone();
        let from_events = || {
            Hints::new(move |hint| {
                let _ = to.send(Input::Hint(hint));
            })
        };
        let mut hints = if options.poll.is_none() { from_events().ok() } else { None };
        // The nearest folder above that exists: whatever comes is made below it.
        if let (Some(hints), Some(above)) = (&mut hints, root.ancestors().skip(1).find(|p| p.is_dir())) {
            let _ = hints.watch(above);
        }
        match Mailbox::open(root) {
            Ok(_) => return Mailbox::open_or_create(root).map(Ok),
            Err(Error::NotFound { .. }) => {}
            Err(e) => return Err(e),
        }
        if !told {
            tracing::info!("waiting for the mailbox {}", root.display());
            told = true;
        }
        match inputs.recv_timeout(options.poll.unwrap_or(LOOK)) {
            Ok(Input::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(Err(Left::Stopped)),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
