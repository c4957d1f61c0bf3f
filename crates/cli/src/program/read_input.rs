//! Reads standard input and files, up to a limit.
//!
//! A file that a person names on the command line is a regular file, or a pipe that another program writes into, such as bash makes for
//! `<(jq …)`. Anything else is refused: a device may never end, and reading a pipe without a writer never returns. A file that an agent
//! names must also be one that the agent may read.
//!
//! The files that a command may read for an agent.
//!
//! The rules that `askbox setup` adds, and the default of `runner.NAME.allowed_tools`, let an agent run `ask-post` and `checkpoint` with
//! any arguments. So these programs must not read what the agent itself would have to ask for: they would put it into the mailbox, and
//! print it from there. Below an agent they read files in the working folder and in the folder for temporary files, and no others. Links
//! are resolved first. A pipe is always read, because the program that writes into it needed a permission of its own.
//!
//! # Limitations
//! A rule that denies the agent a file within its working folder is not known here.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::program::behind_fence::is_for_fenced_run;
use askbox_mailbox::error::IoContext;
use askbox_mailbox::platform::files;
use askbox_mailbox::text::without_bom;
use askbox_mailbox::{Below, Error, Result, time};

/// Reads a file, or standard input for `-` and `/dev/stdin`. A file is a regular file, or a pipe that a program writes into. A byte order
/// mark in front is left out.
///
/// # Errors
/// [`Error::Invalid`] if it is longer than `limit` bytes, is not a regular file or a pipe with a writer, or is a file that the agent above
/// this process may not read.
pub fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") || path == Path::new("/dev/stdin") {
        check_readable(io::stdin(), path).map_err(|e| in_input(path, e))?;
        io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).io("read", path)?;
    } else {
        open(path).and_then(|file| file.read_up_to(limit + 1, &mut bytes)).map_err(|e| in_input(path, e))?;
    }
    if bytes.len() as u64 > limit {
        let fix = "shorten it, or save the bulk in a file and give its path";
        return Err(in_input(path, Error::invalid("file", format!("is longer than the limit of {limit} bytes"), fix)));
    }
    if without_bom(&bytes).len() < bytes.len() { Ok(without_bom(&bytes).to_vec()) } else { Ok(bytes) }
}

/// Adds the name of the input to an error about its content.
pub fn in_input(path: &Path, error: Error) -> Error {
    error.in_file(if path == Path::new("-") { Path::new("standard input") } else { path })
}

/// Reads text from standard input, without its last newline.
pub fn read_stdin_text(limit: u64) -> Result<String> {
    let bytes = read_input(Path::new("-"), limit)?;
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let problem = format!("is not valid UTF-8 (byte {})", e.utf8_error().valid_up_to());
        in_input(Path::new("-"), Error::invalid("text", problem, "send text in UTF-8"))
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// How long a pipe is given until some program opens it for writing.
const WRITER_COMES_WITHIN: Duration = Duration::from_secs(10);
/// How long the program that writes into a pipe may be silent.
const WRITER_IS_SILENT_FOR: Duration = Duration::from_secs(600);

/// An open file or pipe.
#[derive(Debug)]
struct NamedFile {
    file: File,
    path: PathBuf,
    is_pipe: bool,
    /// True if a program is known to have had the pipe open for writing.
    has_had_writer: bool,
}

/// Opens a file, without waiting.
///
/// # Errors
/// [`Error::NotFound`] if the file does not exist, [`Error::Invalid`] if it is neither a regular file nor a pipe.
#[allow(clippy::disallowed_methods, reason = "it opens for reading only")]
fn open(path: &Path) -> Result<NamedFile> {
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
    check_readable(&file, path)?;
    Ok(NamedFile { file, path: path.to_path_buf(), is_pipe: kind.is_fifo(), has_had_writer: false })
}

fn no_file(what: &str) -> Error {
    Error::invalid("file", format!("is {what}, not a regular file"), "name a regular file, or send it on standard input and name `-`")
}

impl NamedFile {
    /// Reads at most `limit` bytes.
    fn read_up_to(mut self, limit: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let path = self.path.clone();
        match (&mut self).take(limit).read_to_end(bytes) {
            Err(e) if e.kind() == ErrorKind::TimedOut => {
                Err(Error::invalid("file", e.to_string(), "start the program that writes into it first, or name a regular file"))
            }
            other => other.map(drop).io("read", path),
        }
    }

    /// True if there is something to read, or if no program will write any more. `false` if `limit` passed first.
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
                // Either the pipe has ended or no writer has come yet. The next read also notices a writer that has opened the pipe but not
                // written yet.
                Ok(0) if self.is_pipe && !self.has_had_writer => match patience.take() {
                    Some(patience) => self.has_had_writer = self.is_ready_within(patience)?,
                    None => return late("is a pipe that no program writes into", WRITER_COMES_WITHIN),
                },
                other => return other,
            }
        }
    }
}

/// Checks that this process may read an opened file. `path` is its name in the error.
///
/// # Errors
/// [`Error::Invalid`] below an agent, for a file outside of the working folder. [`Error::Io`] if the system does not tell where the
/// file lies.
pub fn check_readable(file: impl AsFd, path: &Path) -> Result<()> {
    if !matches!(Below::of_this_process(), Below::Agent | Below::Run) {
        return Ok(());
    }
    let file: OwnedFd = file.as_fd().try_clone_to_owned().io("read", path)?;
    let meta = rustix::fs::fstat(&file).map_err(std::io::Error::from).io("read", path)?;
    let is_regular = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_file();
    // A shell keeps a long heredoc in a file without a name.
    if !is_regular || meta.st_nlink == 0 {
        return Ok(());
    }
    let real = files::real_path(&file).io("find", path)?;
    let is_within = |folder: &Path| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
    let working_folder = std::env::current_dir().io("find", "the working folder")?;
    // The key lies there. Behind a fence the agent cannot read it, and this program can.
    if is_for_fenced_run() && askbox_config::location().and_then(|file| Some(is_within(file.parent()?))) == Some(true) {
        return Err(Error::invalid("file", "lies in the folder of askbox's configuration", "name another file"));
    }
    if is_within(&working_folder) || is_within(&std::env::temp_dir()) {
        return Ok(());
    }
    let fix = "copy it into the working folder first, which may need your user's permission, or send its content through a pipe";
    Err(Error::invalid("file", "lies outside of the working folder, and an agent's command does not read it", fix))
}
