//! Creating and replacing files, durably.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::RenameFlags;
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::disk::primitives::{parent, sync_folder};
use crate::disk::rename::Placed;
use crate::disk::staged::{begin_sync, stage_alone};
use crate::disk::temporary::write_temporary;
use crate::error::{IoContext, Result};

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
    let mut written = Vec::with_capacity(files.len());
    // In portions: a process may not hold as many files open.
    for portion in files.chunks(SYNCED_TOGETHER) {
        let open = portion.iter().map(|(_, bytes)| write_temporary(folder, bytes, 0o600)).collect::<Result<Vec<_>>>()?;
        // The system writes all files of the portion while the first sync waits.
        open.iter().for_each(|temporary| begin_sync(temporary.as_file()));
        sync_together(folder, &open)?;
        written.extend(open.into_iter().map(NamedTempFile::into_temp_path));
    }
    let mut placed = Vec::with_capacity(files.len());
    let take_back = |placed: &[Placed]| {
        let ours = files.iter().zip(placed).filter(|(_, p)| **p == Placed::Done);
        ours.for_each(|((path, _), _)| drop(fs::remove_file(path)));
    };
    for ((path, _), temporary) in files.iter().zip(written) {
        match temporary.persist_noclobber(path) {
            Ok(()) => placed.push(Placed::Done),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => placed.push(Placed::NameExists),
            Err(e) => {
                take_back(&placed);
                return Err(e.error).io("create", path);
            }
        }
    }
    if let Err(e) = sync_folder(folder) {
        take_back(&placed);
        return Err(e);
    }
    Ok(placed)
}

/// Syncs several files from four threads: the disk, or the journal, takes the syncs together.
fn sync_together(folder: &Path, files: &[NamedTempFile]) -> Result<()> {
    let sync = |files: &[NamedTempFile]| files.iter().try_for_each(|f| f.as_file().sync_all());
    let (mine, others) = files.split_at(files.len().div_ceil(4));
    std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .chunks(mine.len().max(1))
            .map(|portion| std::thread::Builder::new().spawn_scoped(scope, move || sync(portion)).map_err(|_| portion))
            .collect();
        let mut result = sync(mine);
        for thread in threads {
            let synced = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))),
                // The system refused a thread: one after the other then.
                Err(portion) => sync(portion),
            };
            result = result.and(synced);
        }
        result
    })
    .io("sync a file in", folder)
}

/// Replaces `path` durably (or creates it), keeping the mode of what was there, else 0600.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = parent(path)?;
    let mode = fs::symlink_metadata(path).map_or(0o600, |m| m.permissions().mode() & 0o777);
    let temporary = write_synced(folder, bytes, mode)?;
    let cwd = rustix::fs::CWD;
    let exchange = || rustix::fs::renameat_with(cwd, temporary.path(), cwd, path, RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) => {}
        // There is no file yet, or the filesystem cannot exchange names.
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            temporary.persist(path).map_err(|e| e.error).io("replace", path)?;
            return sync_folder(folder);
        }
        Err(e) => return Err(e.into()).io("replace", path),
    }
    // The old file has the temporary name now, and is removed with it.
    sync_folder(folder).inspect_err(|_| {
        let _ = exchange();
    })
}

/// [`replace`] before the name is durable, with mode 0600: a power cut may bring back the old file, whole.
pub fn replace_ahead(path: &Path, bytes: &[u8]) -> Result<()> {
    stage_alone(path, bytes)?.replace_ahead()
}

/// [`replace`] with this modification time and mode 0600. A reader never sees the new content with another time.
pub fn replace_dated(path: &Path, bytes: &[u8], changed: SystemTime) -> Result<()> {
    let folder = parent(path)?;
    let temporary = write_temporary(folder, bytes, 0o600)?;
    temporary.as_file().set_modified(changed).and_then(|()| temporary.as_file().sync_all()).io("date a file in", folder)?;
    temporary.persist(path).map_err(|e| e.error).io("replace", path)?;
    sync_folder(folder)
}

fn write_synced(folder: &Path, bytes: &[u8], mode: u32) -> Result<NamedTempFile> {
    let temporary = write_temporary(folder, bytes, mode)?;
    temporary.as_file().sync_all().io("sync a file in", folder)?;
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{read, rename};

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
