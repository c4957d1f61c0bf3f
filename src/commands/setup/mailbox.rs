//! The mailbox itself. Setup makes it, because whoever waits for questions needs a place to watch before the first one is asked: a session,
//! the page, the watcher, and through it Codex.

use std::path::{Path, PathBuf};

use crate::commands::setup::record::Record;
use askbox_mailbox::{Error, Folder, IoContext, Mailbox, Result, disk};

/// The mailbox that setup would make, if there is none yet, or the reason why none can be made there.
pub(super) fn wanted() -> Result<std::result::Result<Option<PathBuf>, String>> {
    let path = Mailbox::locate(None)?;
    Ok(match Mailbox::open_to_look(&path) {
        Ok(_) => Ok(None),
        Err(Error::NotFound { .. }) if has_no_files(&path) => Ok(Some(path)),
        Err(Error::NotFound { .. }) => {
            Err(format!("{} holds other files and no mailbox; name another folder: $ASKBOX_DIR", path.display()))
        }
        Err(e) => Err(format!("the mailbox cannot be used: {e}; see: askbox doctor")),
    })
}

fn has_no_files(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Makes the mailbox, which is recorded first.
pub(super) fn make(path: PathBuf, record: &mut Record) -> Result<()> {
    record.note_folders_above(&path);
    record.mailbox = Some(path.clone());
    record.keep()?;
    Mailbox::open_or_create(path).map(drop)
}

/// True if nobody has used this mailbox: it holds nothing but the marks of its making.
fn is_unused(path: &Path) -> bool {
    let is_ours = |entry: &std::fs::DirEntry| Folder::all().any(|folder| entry.file_name() == folder.name());
    let of = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_empty = |folder: Folder| folder == Folder::Locks || of(&path.join(folder.name())).next().is_none();
    let is_watched = disk::Lock::is_held_or_shared(&path.join(Folder::Locks.name()).join("watchers")).unwrap_or(true);
    !is_watched && of(path).all(|entry| is_ours(&entry)) && Folder::all().all(is_empty)
}

/// Says what [`take_back`] would do.
pub(super) fn undo_in_words(path: &Path) -> String {
    match path.display() {
        shown if is_unused(path) => format!("- {shown}: is removed, as nobody has used it"),
        shown => format!("  {shown}: was used, and stays; remove it by hand if you need nothing in it"),
    }
}

/// Removes the mailbox if nobody has used it. A folder stays if something has appeared in it meanwhile.
pub(super) fn take_back(path: &Path) -> Result<()> {
    if !is_unused(path) {
        return Ok(());
    }
    let locks = path.join(Folder::Locks.name());
    for entry in std::fs::read_dir(&locks).into_iter().flatten() {
        disk::remove(&entry.io("read", &locks)?.path())?;
    }
    Folder::all().for_each(|folder| disk::remove_folder_if_empty(&path.join(folder.name())));
    disk::remove_folder_if_empty(path);
    Ok(())
}
