//! Named pipes (FIFOs): one process sleeps in a read until another process writes.
//!
//! Neither end ever blocks. A FIFO carries no data of value; its reader looks at the files again when it wakes.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::disk::below::Place;
use crate::disk::below::open_with;
use crate::error::{IoContext, Result};

/// Creates the FIFO `path` with mode 0600 where there is none, and opens it for reading.
pub fn open_reader(path: &Path) -> Result<File> {
    match Place::of(path).and_then(|place| place.create_fifo()) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e).io("create", path),
        _ => {}
    }
    // Opened for writing as well: a FIFO without any writer would report its end for ever.
    open_with(path, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0).io("open", path)
}

/// Opens the FIFO `path` for writing; `None` if the FIFO does not exist or no process reads it.
pub fn open_writer(path: &Path) -> Result<Option<File>> {
    match open_with(path, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0) {
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NOENT | Errno::NXIO)) => Ok(None),
        other => other.map(Some).io("open", path),
    }
}
