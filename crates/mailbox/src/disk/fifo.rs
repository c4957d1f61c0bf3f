//! Named pipes (FIFOs): one process sleeps in a read until another process writes.
//!
//! Opening and writing never block. The bytes in a FIFO have no meaning: they only wake the reader, which then looks at the files again.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::disk::below::Place;
use crate::disk::below::open_with;
use crate::error::{IoContext, Result};

/// Opens the FIFO `path` for reading. Creates it with mode 0600 if it does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn open_reader(path: &Path) -> Result<File> {
    match Place::at(path).and_then(|place| place.create_fifo()) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e).io("create", path),
        _ => {}
    }
    // Opened for writing as well, because a FIFO without a writer would report the end of the file for ever.
    open_with(path, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0).io("open", path)
}

/// Creates the FIFO `path`, which must not exist, with mode 0600.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn create(path: &Path) -> Result<()> {
    Place::at(path).and_then(|place| place.create_fifo()).io("create", path)
}

/// Opens the FIFO `path` for reading what programs write into it. Unlike with [`open_reader`], it ends when they have closed it.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn open_end(path: &Path) -> Result<File> {
    open_with(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0).io("open", path)
}

/// Opens the FIFO `path` for writing. Returns `None` if it does not exist, or if no process has it open for reading.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses for another reason.
pub fn open_writer(path: &Path) -> Result<Option<File>> {
    match open_with(path, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0) {
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NOENT | Errno::NXIO)) => Ok(None),
        other => other.map(Some).io("open", path),
    }
}
