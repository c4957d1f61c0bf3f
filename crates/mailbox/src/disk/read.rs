//! Reading files that any program may have put there.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::disk::below::metadata;
use crate::disk::below::open_with;
use crate::error::{Error, IoContext, Result};

/// Reads a regular file of this user or of root, up to `limit` bytes. Refuses symbolic links, devices, FIFOs and files of other users.
///
/// # Errors
/// [`Error::Invalid`] with the field `file` if the file is refused or longer than `limit`. [`Error::Io`] if the system refuses.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, meta) = open_known(path)?;
    if meta.len() > limit {
        return Err(too_long(path, meta.len(), limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes).io("read", path)?;
    if bytes.len() as u64 > limit { Err(refused(path, format!("grew past the limit of {limit} bytes"), "shorten it")) } else { Ok(bytes) }
}

/// Returns `None` in place of the error that a file does not exist.
///
/// # Errors
/// Any other error of `result`.
pub fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(e) if e.is_missing_file() => Ok(None),
        other => other.map(Some),
    }
}

/// True if [`read`] accepts the file, apart from its length. The content is not read.
pub fn is_regular(path: &Path) -> bool {
    open_known(path).is_ok()
}

/// Returns the error for a file of `length` bytes that is longer than `limit` bytes: an [`Error::Invalid`].
pub fn too_long(path: &Path, length: u64, limit: u64) -> Error {
    let fix = "shorten it, or put the bulk into a file of its own and name its path";
    refused(path, format!("is {length} bytes long, the limit is {limit}"), fix)
}

/// Opens a file that [`read`] would accept, for a reader that reads it in portions. Its length is not checked.
///
/// # Errors
/// [`Error::Invalid`] with the field `file` if the file is refused. [`Error::Io`] if the system refuses.
pub fn open_to_read(path: &Path) -> Result<File> {
    open_known(path).map(|(file, _)| file)
}

/// Opens a regular file of another program, such as a session's transcript, wherever it lies. Links are followed, and no FIFO makes it wait.
///
/// # Errors
/// [`std::io::Error`] if the system refuses, or if the path does not lead to a regular file.
pub fn open_of_another_program(path: &Path) -> io::Result<File> {
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

fn open_known(path: &Path) -> Result<(File, Metadata)> {
    let file = match open_with(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0) {
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            let is_link = metadata(path).is_ok_and(|m| m.is_symlink());
            let problem = if is_link { "is a symbolic link" } else { "lies behind a symbolic link" };
            return Err(refused(path, problem.into(), "put the file itself there; links are not followed"));
        }
        // A socket and a device without a driver cannot be opened at all.
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NXIO | Errno::NODEV)) => {
            return Err(refused(path, "is not a regular file".into(), "put a regular file there"));
        }
        other => other.io("open", path)?,
    };
    let meta = file.metadata().io("read", path)?;
    if !meta.is_file() {
        return Err(refused(path, "is not a regular file".into(), "put a regular file there"));
    }
    // Root is trusted because it can write to any file anyway.
    if ![rustix::process::geteuid().as_raw(), 0].contains(&meta.uid()) {
        return Err(refused(path, format!("belongs to user {}", meta.uid()), "only files of the mailbox's owner are read"));
    }
    Ok((file, meta))
}

fn refused(path: &Path, problem: String, fix: &str) -> Error {
    Error::Invalid { file: path.display().to_string(), field: "file".into(), problem, fix: fix.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_link_a_folder_and_a_file_over_the_limit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("f"), folder.path().join("l"));
        fs::write(&file, b"0123456789").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 100).unwrap_err().to_string().contains("symbolic link"));
        assert!(read(folder.path(), 100).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(&file, 9).unwrap_err().to_string().contains("10 bytes long"));
        assert_eq!(read(&file, 10).unwrap().len(), 10);
    }
}
