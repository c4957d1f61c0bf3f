//! A file that a person names on the command line: a regular file, or a pipe that another program writes into, as bash makes one for
//! `<(jq …)`. Anything else is refused: a device may never end, and a pipe without a writer says nothing for ever.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, IoContext, Result};
use crate::time;

/// How long a pipe is waited for that no program has open for writing.
const WRITER_COMES_WITHIN: Duration = Duration::from_secs(3);
/// How long the program that writes into a pipe may be silent.
const WRITER_IS_SILENT_FOR: Duration = Duration::from_secs(600);

/// An open file or pipe.
#[derive(Debug)]
pub struct NamedFile {
    file: File,
    path: PathBuf,
    is_pipe: bool,
    /// Whether a program is known to have had the pipe open for writing.
    has_had_writer: bool,
}

/// Opens a file. Never waits.
///
/// # Errors
/// [`Error::NotFound`] where there is none, [`Error::Invalid`] where it is neither a regular file nor a pipe.
#[allow(clippy::disallowed_methods, reason = "it opens for reading only")]
pub fn open(path: &Path) -> Result<NamedFile> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(Error::not_found(
                format!("the file {} does not exist", path.display()),
                "check the path; `-` reads standard input",
            ));
        }
        // A socket cannot be opened at all, nor can a device without a driver.
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NXIO | Errno::NODEV)) => return Err(no_file("a socket or a device")),
        other => other.io("open", path)?,
    };
    let kind = file.metadata().io("read", path)?.file_type();
    if kind.is_dir() {
        return Err(no_file("a folder"));
    }
    if !kind.is_file() && !kind.is_fifo() {
        return Err(no_file("a device"));
    }
    Ok(NamedFile { file, path: path.to_path_buf(), is_pipe: kind.is_fifo(), has_had_writer: false })
}

fn no_file(what: &str) -> Error {
    Error::invalid("file", format!("is {what}, not a regular file"), "name a regular file, or send it on standard input and name `-`")
}

impl NamedFile {
    /// Reads at most `limit` bytes.
    pub fn read_up_to(mut self, limit: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let path = self.path.clone();
        match (&mut self).take(limit).read_to_end(bytes) {
            Err(e) if e.kind() == ErrorKind::TimedOut => {
                Err(Error::invalid("file", e.to_string(), "start the program that writes into it first, or name a regular file"))
            }
            other => other.map(drop).io("read", path),
        }
    }

    /// Whether there is something to read, or no program will write any more. `false` after `limit`.
    fn is_ready_within(&self, limit: Duration) -> io::Result<bool> {
        let limit = Timespec { tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
        Ok(rustix::io::retry_on_intr(|| poll(&mut fds, Some(&limit)))? > 0)
    }
}

impl Read for NamedFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let late = |problem: &str, limit| Err(io::Error::new(ErrorKind::TimedOut, format!("{problem} ({})", time::human(limit))));
        let mut patience = Some(WRITER_COMES_WITHIN);
        loop {
            match self.file.read(into) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.has_had_writer = true;
                    if !self.is_ready_within(WRITER_IS_SILENT_FOR)? {
                        return late("is a pipe whose writer is silent", WRITER_IS_SILENT_FOR);
                    }
                }
                // The end, or no writer has come yet. The next read finds a writer that comes and does not write at once.
                Ok(0) if self.is_pipe && !self.has_had_writer => match patience.take() {
                    Some(patience) => self.has_had_writer = self.is_ready_within(patience)?,
                    None => return late("is a pipe that no program writes into", WRITER_COMES_WITHIN),
                },
                other => return other,
            }
        }
    }
}
