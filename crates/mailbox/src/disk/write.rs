//! Creating and replacing files, durably. A [`Staged`] file is written, but does not have its final name yet.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::io::Errno;

use crate::disk::below::{OpenFolder, Place, parent};
use crate::disk::rename::Placed;
use crate::disk::temporary::Temporary;
use crate::error::{Error, IoContext, Result};
use crate::platform::files;

/// How many files of [`create_all`] are open at once.
const SYNCED_TOGETHER: usize = 64;

/// Creates `path` durably with mode 0600. Never replaces another file.
///
/// # Errors
/// [`Error::Io`] if the system refuses. The file does not exist then.
pub fn create(path: &Path, bytes: &[u8]) -> Result<Placed> {
    stage_alone(path, bytes)?.place()
}

/// [`create`] for many files of one folder, with one sync of the folder at the end. Returns for each file whether it was created,
/// in the order of `files`. Only the last component of each path counts.
///
/// # Errors
/// [`Error::Io`] if the system refuses one of the files. None of them exists then.
pub fn create_all(folder: &Path, files: &[(PathBuf, &[u8])]) -> Result<Vec<Placed>> {
    let opened = Arc::new(OpenFolder::open_to_change(folder).io("open", folder)?);
    let targets: Vec<_> = files.iter().map(|(path, _)| Place::within(&opened, path.file_name().unwrap_or_default())).collect();
    let mut written = Vec::with_capacity(files.len());
    // In portions, because a process may not hold that many files open.
    for (files, targets) in files.chunks(SYNCED_TOGETHER).zip(targets.chunks(SYNCED_TOGETHER)) {
        let written_now = files.iter().zip(targets).map(|((_, bytes), target)| Temporary::write(target, bytes, 0o600));
        let portion = written_now.collect::<Result<Vec<_>>>()?;
        // The system writes all files of the portion while the first sync waits.
        portion.iter().for_each(|temporary| files::begin_sync(&temporary.file));
        sync_together(&portion)?;
        written.extend(portion.into_iter().map(|temporary| temporary.name));
    }
    let mut placed = Vec::with_capacity(files.len());
    let take_back = |placed: &[Placed]| {
        let ours = targets.iter().zip(placed).filter(|(_, p)| **p == Placed::Done);
        ours.for_each(|(target, _)| drop(target.remove()));
    };
    for ((target, (path, _)), name) in targets.iter().zip(files).zip(written) {
        match name.place(target) {
            Ok(()) => placed.push(Placed::Done),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => placed.push(Placed::NameExists),
            Err(e) => {
                take_back(&placed);
                return Err(e).io("create", path);
            }
        }
    }
    if let Err(e) = opened.sync() {
        take_back(&placed);
        return Err(e);
    }
    Ok(placed)
}

/// Syncs several files from four threads, so that the disk or the journal can combine the syncs.
fn sync_together(files: &[Temporary]) -> Result<()> {
    let sync = |files: &[Temporary]| files.iter().try_for_each(Temporary::sync);
    let (mine, others) = files.split_at(files.len().div_ceil(4));
    std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .chunks(mine.len().max(1))
            .map(|portion| std::thread::Builder::new().spawn_scoped(scope, move || sync(portion)).map_err(|_| portion))
            .collect();
        let mut result = sync(mine);
        for thread in threads {
            let synced = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| Err(Error::failed("a thread panicked", "repeat the command"))),
                // The system refused a thread, so this thread syncs the portion itself.
                Err(portion) => sync(portion),
            };
            result = result.and(synced);
        }
        result
    })
}

/// Creates or replaces `path` durably. Keeps the mode of the old file; a new file gets 0600.
///
/// # Errors
/// [`Error::Io`] if the system refuses. The old file stays then; on a filesystem that cannot exchange names, the new one may stay
/// instead.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let target = Place::at(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, target.mode().unwrap_or(0o600))?;
    temporary.sync()?;
    match temporary.name.exchange(&target) {
        Ok(()) => {}
        // The file does not exist yet, or the filesystem cannot exchange names.
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            temporary.name.replace(&target).io("replace", path)?;
            return target.folder.sync();
        }
        Err(e) => return Err(e.into()).io("replace", path),
    }
    // The old file has the temporary name now, and is removed with it.
    target.folder.sync().inspect_err(|_| {
        let _ = temporary.name.exchange(&target);
    })
}

/// [`replace`] with mode 0600 that does not wait until the name is durable. A power cut may bring back the old file, whole.
///
/// # Errors
/// [`Error::Io`] if the system refuses. The old file stays then.
pub fn replace_ahead(path: &Path, bytes: &[u8]) -> Result<()> {
    stage_alone(path, bytes)?.replace_ahead()
}

/// [`replace`] with this modification time and mode 0600. A reader never sees the new content with another time.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn replace_dated(path: &Path, bytes: &[u8], changed: SystemTime) -> Result<()> {
    let target = Place::at(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, 0o600)?;
    temporary.file.set_modified(changed).io("date a file in", target.folder.path())?;
    temporary.sync()?;
    temporary.name.replace(&target).io("replace", path)?;
    target.folder.sync()
}

/// A file under a temporary name in the folder of its target. Its content is not durable yet.
#[derive(Debug)]
#[must_use = "the file is removed if it is dropped before it gets its name"]
pub struct Staged {
    temporary: Temporary,
    target: Place,
    path: PathBuf,
}

/// Writes a file with mode 0600 under a temporary name, and starts writing it to the disk without waiting for that. A caller with
/// several files should stage all of them before it places the first one: then it waits less.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn stage(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let staged = stage_alone(path, bytes)?;
    files::begin_sync(&staged.temporary.file);
    Ok(staged)
}

/// [`stage`] for a file that is placed at once.
fn stage_alone(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let target = Place::at(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, 0o600)?;
    Ok(Staged { temporary, target, path: path.to_path_buf() })
}

impl Staged {
    /// Gives the file its name, durably. Never replaces another file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file does not have its name then. A full disk is reported
    /// here at the latest.
    pub fn place(self) -> Result<Placed> {
        let target = self.target.clone();
        let placed = self.place_ahead()?;
        if placed == Placed::Done {
            target.folder.sync().inspect_err(|_| drop(target.remove()))?;
        }
        Ok(placed)
    }

    /// [`place`](Self::place) without making the name durable: [`crate::disk::sync_names_up_to`] does that later. A power cut
    /// before that removes the whole file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file does not have its name then.
    pub fn place_ahead(self) -> Result<Placed> {
        self.temporary.sync()?;
        match self.temporary.name.place(&self.target) {
            Ok(()) => Ok(Placed::Done),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::NameExists),
            Err(e) => Err(e).io("create", self.path),
        }
    }

    /// Gives the file its name, and replaces a file that has it. The name is not durable yet: a power cut may bring back the old
    /// file, whole.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses. The old file stays then.
    pub fn replace_ahead(self) -> Result<()> {
        self.temporary.sync()?;
        self.temporary.name.replace(&self.target).io("replace", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{read, rename};
    use std::fs;

    #[test]
    fn a_name_that_exists_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert_eq!(create(&path, b"first").unwrap(), Placed::Done);
        assert_eq!(create(&path, b"second").unwrap(), Placed::NameExists);
        let other = folder.path().join("b.json");
        assert_eq!(create(&other, b"b").unwrap(), Placed::Done);
        assert_eq!(rename(&other, &path).unwrap(), Placed::NameExists);
        assert_eq!(read(&path, 100).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "a temporary file was left behind");
    }

    #[test]
    fn many_files_at_once_are_each_created_unless_the_name_exists() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..200).map(|n| (folder.path().join(n.to_string()), b"new".as_slice())).collect();
        fs::write(folder.path().join("7"), b"old").unwrap();
        let placed = create_all(folder.path(), &files).unwrap();
        assert!(placed.iter().enumerate().all(|(n, p)| (*p == Placed::NameExists) == (n == 7)));
        assert_eq!((read(&files[7].0, 9).unwrap(), read(&files[199].0, 9).unwrap()), (b"old".to_vec(), b"new".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 200, "a temporary file was left behind");
    }
}
