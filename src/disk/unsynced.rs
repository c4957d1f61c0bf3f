//! Changes that need not survive a power cut: marks that repeat what other files say, and logs that can be rebuilt.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::OFlags;

use crate::disk::primitives::open;
use crate::error::{IoContext, Result};

/// Creates an empty file; an existing file stays as it is.
pub fn touch(path: &Path) -> Result<()> {
    open(path, OFlags::WRONLY | OFlags::CREATE).map(drop).io("create", path)
}

/// [`touch`], and sets the modification time to now.
pub fn touch_now(path: &Path) -> Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CREATE).io("create", path)?;
    file.set_modified(SystemTime::now()).io("date", path)
}

/// Removes a file; a missing file is no error.
pub fn untouch(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).io("remove", path),
        _ => Ok(()),
    }
}

/// Appends one line in one write. Returns the size of the file in bytes.
pub fn append(path: &Path, line: &[u8]) -> Result<u64> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    let mut file = open(path, flags).io("append to", path)?;
    file.write_all(line).io("append to", path)?;
    Ok(file.metadata().map_or(0, |m| m.len()))
}

/// Opens a file for reading and appending; a new file gets mode 0600.
pub fn open_append(path: &Path) -> Result<File> {
    open(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW).io("open", path)
}
