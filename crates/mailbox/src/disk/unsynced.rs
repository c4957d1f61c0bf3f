//! Changes that need not survive a power cut: marks that repeat what other files say, and logs that can be rebuilt.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::OFlags;

use crate::disk::below::{Place, open_with, parent};
use crate::disk::temporary::Temporary;
use crate::error::{IoContext, Result};

/// The flags that open a mark. If a FIFO has the name, opening it fails and does not wait for a reader.
const MARK: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// Creates an empty file with mode 0600. An existing file stays as it is.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn touch(path: &Path) -> Result<()> {
    open_with(path, MARK, 0o600).map(drop).io("create", path)
}

/// Creates or replaces a file, and sets its modification time. A reader never sees the new content with another time.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn replace_unsynced(path: &Path, bytes: &[u8], changed: SystemTime) -> Result<()> {
    let target = Place::at(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, 0o600)?;
    temporary.file.set_modified(changed).io("date", path)?;
    temporary.name.replace(&target).io("replace", path)
}

/// Removes a file. Does nothing if the file does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn untouch(path: &Path) -> Result<()> {
    match Place::at(path).and_then(|place| place.remove()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).io("remove", path),
        _ => Ok(()),
    }
}

/// Appends one line in one write, and creates the file if it does not exist. Returns the new size of the file in bytes. `line` must
/// end with a newline.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses, or if the path does not lead to a regular file.
pub fn append(path: &Path, line: &[u8]) -> Result<u64> {
    let mut file = regular(path, OFlags::WRONLY).io("append to", path)?;
    file.write_all(line).io("append to", path)?;
    Ok(file.metadata().map_or(0, |m| m.len()))
}

/// Opens a file for reading and appending. Creates it with mode 0600 if it does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses, or if the path does not lead to a regular file.
pub fn open_append(path: &Path) -> Result<File> {
    regular(path, OFlags::RDWR).io("open", path)
}

/// Empties a file that was opened to append.
///
/// # Errors
/// [`std::io::Error`] if the system refuses.
pub fn empty(file: &File) -> io::Result<()> {
    file.set_len(0)
}

/// Opens a regular file to append. Refuses a named pipe in its place: a write to a full pipe would wait for ever.
fn regular(path: &Path, access: OFlags) -> io::Result<File> {
    let file = open_with(path, access | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0o600)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_named_pipe_in_place_of_a_log_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("audit.jsonl");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(append(&pipe, b"{}\n").is_err() && open_append(&pipe).is_err());
        let _reader = File::options().read(true).write(true).open(&pipe).unwrap();
        assert!(append(&pipe, b"{}\n").is_err() && open_append(&pipe).is_err());
    }
}
