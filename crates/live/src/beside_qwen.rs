//! The process beside a session of Qwen.

use std::path::Path;

use crate::bridge;
use crate::qwen::files;
use crate::qwen::folder::Folder;
use crate::way::Way;
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_config::Config;
use askbox_mailbox::{Error, Mailbox, ProcessHandle, Result};

/// Serves the dialogs of the process `of` until it has ended, and removes the folder.
///
/// # Errors
/// If the folder is not private, or the files cannot be used.
pub(crate) fn serve(mailbox: &Mailbox, config: &Config, folder: &Path, of: u32) -> Result<()> {
    // Ctrl-C at the terminal must not reach this process, and neither must its end.
    let _ = rustix::process::setsid();
    let folder = Folder::open(folder.to_path_buf())?;
    let gone = || Error::failed("the process that starts Qwen has ended", "askbox live qwen");
    let qwen = ProcessHandle::open(of).ok_or_else(gone)?;
    let result = files::open(&folder, qwen)
        .and_then(|(files, lines)| bridge::serve(mailbox, config, LiveProgram::Qwen, Way::Files(Box::new(files)), &lines));
    folder.remove();
    result
}
