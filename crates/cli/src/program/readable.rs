//! The files that a command may read for an agent.
//!
//! The rules that `askbox setup` adds, and the default of `runner.NAME.allowed_tools`, let an agent run `ask-post` and `checkpoint` with
//! any arguments. So these programs must not read what the agent itself would have to ask for: they would put it into the mailbox, and
//! print it from there. Below an agent they read files in the working folder and in the folder for temporary files, and no others. Links
//! are resolved first. A pipe is always read, because the program that writes into it needed a permission of its own.
//!
//! # Limitations
//! A rule that denies the agent a file within its working folder is not known here.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use askbox_mailbox::error::IoContext;
use askbox_mailbox::platform::files;
use askbox_mailbox::{Below, Error, Result};

/// Checks that this process may read an opened file. `path` is its name in the error.
///
/// # Errors
/// [`Error::Invalid`] below an agent, for a file outside of the working folder. [`Error::Io`] if the system does not tell where the
/// file lies.
pub fn check(file: impl AsFd, path: &Path) -> Result<()> {
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
    if is_within(&working_folder) || is_within(&std::env::temp_dir()) {
        return Ok(());
    }
    let fix = "copy it into the working folder first, which may need your user's permission, or send its content through a pipe";
    Err(Error::invalid("file", "lies outside of the working folder, and an agent's command does not read it", fix))
}
