//! The only room that writes to the mailbox.
//!
//! A new file: temporary name in the same folder → write → fsync → link or rename with no-replace → fsync of the folder.
//! Nobody ever sees half a file under its final name, and success is reported only after the last fsync. Where the last
//! fsync fails, the name is taken back, so that an error leaves the old state.
//!
//! # Limitations
//! A leftover of a crash is a file whose name starts with `.tmp`; every reader passes it over, `askbox doctor` names it, and
//! a watcher that starts removes it if it is an hour old.
//! `flock` and no-replace renames must work on the filesystem; NFS older than version 4 has neither.

#![allow(clippy::disallowed_methods, reason = "this is the room that writes files")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::error::{Error, IoContext, Result};

#[cfg(feature = "relaunch")]
pub mod fifo;
mod folder;
#[cfg(feature = "relaunch")]
pub mod hints;
mod lock;
mod prune;
mod staged;
mod sweep;

pub use folder::{check_folder, check_folders, create_folder, create_folder_in, sync_names, sync_names_up_to, touch_folder};
pub use lock::{LOCK_PATIENCE, Lock};
pub use prune::{Removed, remove_folder_if_empty, remove_known, set_aside};
use staged::stage_alone;
pub use staged::{Staged, stage};
pub use sweep::{is_temporary_name, sweep};

/// The mark of a temporary file; readers pass such names over.
pub const TEMPORARY_PREFIX: &str = ".tmp";
/// How many hexadecimal digits follow it.
const TEMPORARY_DIGITS: usize = 12;

/// What [`create`] and [`rename`] found at the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a transition that found its target taken has not happened"]
pub enum Placed {
    /// The file is there, durably.
    Done,
    /// Another file has that name; nothing was changed.
    NameExists,
}

/// Reads a regular file of ours, up to `limit` bytes. Symbolic links, devices, FIFOs and other people's files are refused.
///
/// # Errors
/// [`Error::Io`] where the system refuses, [`Error::Invalid`] with field `file` where the file is not one to be read.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let invalid =
        |problem: String, fix: &str| Error::Invalid { file: path.display().to_string(), field: "file".into(), problem, fix: fix.into() };
    let file = match open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK) {
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(invalid("is a symbolic link".into(), "put the file itself there; links are not followed"));
        }
        // A socket cannot be opened at all, nor can a device without a driver.
        Err(e) if matches!(rustix::io::Errno::from_io_error(&e), Some(rustix::io::Errno::NXIO | rustix::io::Errno::NODEV)) => {
            return Err(invalid("is no regular file".into(), "put a regular file there"));
        }
        other => other.io("open", path)?,
    };
    let meta = file.metadata().io("read", path)?;
    if !meta.is_file() {
        return Err(invalid("is no regular file".into(), "put a regular file there"));
    }
    check_owner(&meta).map_err(|uid| invalid(format!("belongs to user {uid}"), "only files of the mailbox's owner are read"))?;
    if meta.len() > limit {
        return Err(invalid(
            format!("is {} bytes long, the limit is {limit}", meta.len()),
            "shorten it, or put the bulk into a file of its own and name its path",
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes).io("read", path)?;
    if bytes.len() as u64 > limit {
        return Err(invalid(format!("grew past the limit of {limit} bytes"), "shorten it"));
    }
    Ok(bytes)
}

/// What is made has mode 0600.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    open_with(path, flags, 0o600)
}

fn open_with(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let open = || rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(mode));
    Ok(rustix::io::retry_on_intr(open)?.into())
}

/// Root may read everyone's files, so root's own are trusted by everyone.
fn check_owner(meta: &fs::Metadata) -> Result<(), u32> {
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() == me || meta.uid() == 0 { Ok(()) } else { Err(meta.uid()) }
}

/// Creates `path` durably with mode 0600; never replaces.
pub fn create(path: &Path, bytes: &[u8]) -> Result<Placed> {
    stage_alone(path, bytes)?.place()
}

/// Creates many files of one folder durably, never replacing, with one sync of the folder at the end. Tells for each what was
/// found at its name.
///
/// # Errors
/// Where the system refuses one of them, none is there.
pub fn create_all(folder: &Path, files: &[(PathBuf, &[u8])]) -> Result<Vec<Placed>> {
    let mut written = Vec::with_capacity(files.len());
    // In portions: there may be more of them than a process may hold open.
    for portion in files.chunks(SYNCED_TOGETHER) {
        let open = portion.iter().map(|(_, bytes)| write_unsynced(folder, bytes, 0o600)).collect::<Result<Vec<_>>>()?;
        // All of it is on its way before any of it is waited for.
        open.iter().for_each(|temporary| staged::begin_sync(temporary.as_file()));
        sync_together(folder, &open)?;
        written.extend(open.into_iter().map(tempfile::NamedTempFile::into_temp_path));
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

/// [`replace`] ahead of the sync of its name: a power cut may bring back what was there, whole. The mode is 0600.
pub fn replace_ahead(path: &Path, bytes: &[u8]) -> Result<()> {
    stage_alone(path, bytes)?.replace_ahead()
}

/// Replaces `path` durably (or creates it), keeping the mode of what was there, else 0600.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = parent(path)?;
    let mode = fs::symlink_metadata(path).map_or(0o600, |m| m.permissions().mode() & 0o777);
    let temporary = write_temporary(folder, bytes, mode)?;
    let cwd = rustix::fs::CWD;
    let exchange = || rustix::fs::renameat_with(cwd, temporary.path(), cwd, path, RenameFlags::EXCHANGE);
    match exchange() {
        Ok(()) => {}
        // Nothing is there yet, or the filesystem cannot exchange.
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            temporary.persist(path).map_err(|e| e.error).io("replace", path)?;
            return sync_folder(folder);
        }
        Err(e) => return Err(e.into()).io("replace", path),
    }
    // The temporary name holds the old content now, and goes when it is dropped.
    sync_folder(folder).inspect_err(|_| {
        let _ = exchange();
    })
}

/// [`replace`] with a time of change that is not now: a reader never sees the new content with another time.
pub fn replace_dated(path: &Path, bytes: &[u8], changed: SystemTime) -> Result<()> {
    let folder = parent(path)?;
    let temporary = write_temporary(folder, bytes, 0o600)?;
    temporary.as_file().set_modified(changed).and_then(|()| temporary.as_file().sync_all()).io("date a file in", folder)?;
    temporary.persist(path).map_err(|e| e.error).io("replace", path)?;
    sync_folder(folder)
}

/// Renames durably, never replaces, and syncs both folders.
pub fn rename(from: &Path, to: &Path) -> Result<Placed> {
    // The new name first: a crash between the two leaves both names rather than none.
    let placed = rename_ahead(from, to)?;
    let source = parent(from)?;
    if placed == Placed::Done && source != parent(to)? {
        sync_folder(source).inspect_err(|_| drop(rename_noreplace(to, from)))?;
    }
    Ok(placed)
}

/// Renames, never replaces; durable is the new name. Where a power cut brings the old one back as well, whoever looks has to
/// tell.
pub fn rename_ahead(from: &Path, to: &Path) -> Result<Placed> {
    match rename_noreplace(from, to) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Placed::NameExists),
        Err(e) => return Err(e).io("move", from),
    }
    sync_folder(parent(to)?).inspect_err(|_| drop(rename_noreplace(to, from)))?;
    Ok(Placed::Done)
}

fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    let cwd = rustix::fs::CWD;
    match rustix::fs::renameat_with(cwd, from, cwd, to, RenameFlags::NOREPLACE) {
        // Filesystems without RENAME_NOREPLACE: a link refuses an existing name just as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

/// Removes a file durably; one that is gone already is fine.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(parent(path)?),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e).io("remove", path),
    }
}

/// Creates an empty file that only hints at something kept elsewhere: not synced, an existing one is fine.
pub fn touch(path: &Path) -> Result<()> {
    open(path, OFlags::WRONLY | OFlags::CREATE).map(drop).io("create", path)
}

/// [`touch`], with the time of now.
pub fn touch_now(path: &Path) -> Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CREATE).io("create", path)?;
    file.set_modified(SystemTime::now()).io("date", path)
}

/// Removes what [`touch`] made, or what is over: not synced.
pub fn untouch(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).io("remove", path),
        _ => Ok(()),
    }
}

/// Appends one line in one write. Not synced: what is appended can be rebuilt.
pub fn append(path: &Path, line: &[u8]) -> Result<u64> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    let mut file = open(path, flags).io("append to", path)?;
    file.write_all(line).io("append to", path)?;
    Ok(file.metadata().map_or(0, |m| m.len()))
}

/// A file that grows while somebody reads along: opened for appending, created with mode 0600.
pub fn open_append(path: &Path) -> Result<File> {
    open(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW).io("open", path)
}

/// How many files of [`create_all`] are open at once.
const SYNCED_TOGETHER: usize = 64;

/// Several syncs at a time: the disk, or the journal, takes them together.
fn sync_together(folder: &Path, files: &[tempfile::NamedTempFile]) -> Result<()> {
    let sync = |files: &[tempfile::NamedTempFile]| files.iter().try_for_each(|f| f.as_file().sync_all());
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
                // No thread to be had: then one after the other.
                Err(portion) => sync(portion),
            };
            result = result.and(synced);
        }
        result
    })
    .io("sync a file in", folder)
}

fn write_temporary(folder: &Path, bytes: &[u8], mode: u32) -> Result<tempfile::NamedTempFile> {
    let temporary = write_unsynced(folder, bytes, mode)?;
    temporary.as_file().sync_all().io("sync a file in", folder)?;
    Ok(temporary)
}

fn write_unsynced(folder: &Path, bytes: &[u8], mode: u32) -> Result<tempfile::NamedTempFile> {
    let (file, path) = open_temporary(folder, mode).io("write in", folder)?;
    let path = tempfile::TempPath::try_from_path(path).io("write in", folder)?;
    let mut temporary = tempfile::NamedTempFile::from_parts(file, path);
    temporary.as_file_mut().write_all(bytes).io("write in", folder)?;
    Ok(temporary)
}

/// Opened and named by hand: tempfile's own errors hide the system's number behind the temporary name, and the randomness it
/// asks its thread for costs a program that lives for half a millisecond a tenth of it.
fn open_temporary(folder: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    for attempt in 0.. {
        let name = uuid::Uuid::new_v4().simple().to_string();
        let path = folder.join(format!("{TEMPORARY_PREFIX}{}", &name[..TEMPORARY_DIGITS]));
        match open_with(&path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
            other => return Ok((other?, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn sync_folder(folder: &Path) -> Result<()> {
    open(folder, OFlags::RDONLY | OFlags::DIRECTORY).io("open", folder)?.sync_all().io("sync", folder)
}

fn parent(path: &Path) -> Result<&Path> {
    match path.parent() {
        Some(p) if p.as_os_str().is_empty() => Ok(Path::new(".")),
        Some(p) => Ok(p),
        None => Err(Error::failed(format!("{} has no folder", path.display()), "name a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_is_never_replaced() {
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
    fn many_files_at_once_are_each_created_or_found_taken() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..200).map(|n| (folder.path().join(n.to_string()), b"new".as_slice())).collect();
        fs::write(folder.path().join("7"), b"old").unwrap();
        let placed = create_all(folder.path(), &files).unwrap();
        assert!(placed.iter().enumerate().all(|(n, p)| (*p == Placed::NameExists) == (n == 7)));
        assert_eq!((read(&files[7].0, 9).unwrap(), read(&files[199].0, 9).unwrap()), (b"old".to_vec(), b"new".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 200, "a temporary file was left behind");
    }

    #[test]
    fn what_is_not_a_plain_file_of_ours_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("f"), folder.path().join("l"));
        fs::write(&file, b"0123456789").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 100).unwrap_err().to_string().contains("symbolic link"));
        assert!(read(folder.path(), 100).unwrap_err().to_string().contains("no regular file"));
        assert!(read(&file, 9).unwrap_err().to_string().contains("10 bytes long"));
        assert_eq!(read(&file, 10).unwrap().len(), 10);
    }

    #[test]
    fn a_folder_others_may_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        assert_eq!(check_folder(&path).unwrap_err().exit_code(), 3);
        create_folder(&path.join("deep/er")).unwrap();
        check_folder(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(check_folder(&path).unwrap_err().to_string().contains("0777"));
    }
}
