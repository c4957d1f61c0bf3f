//! Changes that need not survive a power cut: marks that repeat what other files say, and logs that can be rebuilt.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::OFlags;

use crate::disk::place::Place;
use crate::disk::root::open_with;
use crate::error::{IoContext, Result};

/// A FIFO of that name is refused instead of waited for.
const MARK: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// Creates an empty file; an existing file stays as it is.
pub fn touch(path: &Path) -> Result<()> {
    open_with(path, MARK, 0o600).map(drop).io("create", path)
}

/// [`touch`], and sets the modification time.
pub fn touch_dated(path: &Path, changed: SystemTime) -> Result<()> {
    let file = open_with(path, MARK, 0o600).io("create", path)?;
    file.set_modified(changed).io("date", path)
}

/// Removes a file; a missing file is no error.
pub fn untouch(path: &Path) -> Result<()> {
    match Place::of(path).and_then(|place| place.remove()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).io("remove", path),
        _ => Ok(()),
    }
}

/// Appends one line in one write. Returns the size of the file in bytes.
pub fn append(path: &Path, line: &[u8]) -> Result<u64> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    let mut file = open_with(path, flags, 0o600).io("append to", path)?;
    file.write_all(line).io("append to", path)?;
    Ok(file.metadata().map_or(0, |m| m.len()))
}

/// Opens a file for reading and appending; a new file gets mode 0600.
pub fn open_append(path: &Path) -> Result<File> {
    open_with(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW, 0o600).io("open", path)
}
