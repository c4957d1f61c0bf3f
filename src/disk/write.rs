//! Creating and replacing files, durably.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::io::Errno;

use crate::disk::below::{OpenFolder, Place, parent};
use crate::disk::rename::Placed;
use crate::disk::staged::stage_alone;
use crate::disk::temporary::Temporary;
use crate::error::{Error, IoContext, Result};
use crate::platform::files;

/// How many files of [`create_all`] are open at once.
const SYNCED_TOGETHER: usize = 64;

/// Creates `path` durably with mode 0600; never replaces another file.
pub fn create(path: &Path, bytes: &[u8]) -> Result<Placed> {
    stage_alone(path, bytes)?.place()
}

/// [`create`] for many files of one folder, with one sync of the folder at the end. Returns for each file what was found at its
/// name.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses one of them: none of them exists then.
pub fn create_all(folder: &Path, files: &[(PathBuf, &[u8])]) -> Result<Vec<Placed>> {
    let opened = Arc::new(OpenFolder::open(folder).io("open", folder)?);
    let targets: Vec<_> = files.iter().map(|(path, _)| Place::within(&opened, path.file_name().unwrap_or_default())).collect();
    let mut written = Vec::with_capacity(files.len());
    // In portions: a process may not hold as many files open.
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

/// Syncs several files from four threads: the disk, or the journal, takes the syncs together.
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
                // The system refused a thread: one after the other then.
                Err(portion) => sync(portion),
            };
            result = result.and(synced);
        }
        result
    })
}

/// Replaces `path` durably (or creates it), keeping the mode of what was there, else 0600.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let target = Place::of(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, target.mode().unwrap_or(0o600))?;
    temporary.sync()?;
    match temporary.name.exchange(&target) {
        Ok(()) => {}
        // There is no file yet, or the filesystem cannot exchange names.
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

/// [`replace`] before the name is durable, with mode 0600: a power cut may bring back the old file, whole.
pub fn replace_ahead(path: &Path, bytes: &[u8]) -> Result<()> {
    stage_alone(path, bytes)?.replace_ahead()
}

/// [`replace`] with this modification time and mode 0600. A reader never sees the new content with another time.
pub fn replace_dated(path: &Path, bytes: &[u8], changed: SystemTime) -> Result<()> {
    let target = Place::of(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, 0o600)?;
    temporary.file.set_modified(changed).io("date a file in", target.folder.path())?;
    temporary.sync()?;
    temporary.name.replace(&target).io("replace", path)?;
    target.folder.sync()
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
