//! Named pipes (FIFOs): one process sleeps in a read until another process writes.
//!
//! Neither end ever blocks. A FIFO carries no data of value; its reader looks at the files again when it wakes.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::disk::primitives::open;
use crate::error::{IoContext, Result};

/// Creates the FIFO `path` with mode 0600 where there is none, and opens it for reading.
pub fn open_reader(path: &Path) -> Result<File> {
    match rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(e) => return Err(io::Error::from(e)).io("create", path),
    }
    // Opened for writing as well: a FIFO without any writer would report its end for ever.
    open(path, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK).io("open", path)
}

/// Opens the FIFO `path` for writing; `None` if the FIFO does not exist or no process reads it.
pub fn open_writer(path: &Path) -> Result<Option<File>> {
    match open(path, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK) {
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NOENT | Errno::NXIO)) => Ok(None),
        other => other.map(Some).io("open", path),
    }
}
