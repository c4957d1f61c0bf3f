//! A changed tool call that the person has not confirmed yet. The next `edit` of the same call begins with it. It lies beside the drafts of
//! the inbox, as `WORKFLOW.QUESTION.call`.

use std::path::PathBuf;

use crate::program;
use askbox_mailbox::documents::fields::approval::LONGEST_EDITED;
use askbox_mailbox::{QuestionId, Result, disk, layout};

/// The ending of the file's name.
pub const ENDING: &str = ".call";

/// The folder of all drafts of this user. It is created if it is missing.
///
/// # Errors
/// If it cannot be created, or other users may write there.
pub fn folder() -> Result<PathBuf> {
    let state = match program::env("XDG_STATE_HOME") {
        Some(state) => PathBuf::from(state),
        None => layout::home()?.join(".local/state"),
    };
    let folder = state.join("askbox/drafts");
    disk::create_folder(&folder)?;
    disk::check_folder(&folder)?;
    Ok(folder)
}

/// The draft for one call.
#[derive(Debug)]
pub(super) struct CallDraft(Option<PathBuf>);

impl CallDraft {
    /// The draft for the call that this round asks about. Without a folder for it, nothing is kept.
    pub(super) fn of(address: &str, round: QuestionId) -> Self {
        Self(folder().ok().map(|folder| folder.join(format!("{address}.{round}{ENDING}"))))
    }

    /// The text that was kept.
    pub(super) fn text(&self) -> Option<String> {
        String::from_utf8(disk::read(self.0.as_ref()?, LONGEST_EDITED as u64).ok()?).ok()
    }

    /// Keeps a text. Returns true if it is on disk.
    pub(super) fn keep(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|path| disk::replace(path, text.as_bytes()).is_ok())
    }

    pub(super) fn forget(&self) {
        if let Some(path) = &self.0 {
            let _ = disk::remove(path);
        }
    }
}
