//! Checkpoints under a temporary folder, which a reboot deletes: a copy is kept in `checkpoints/`. The original path works as
//! long as the file exists.

use std::path::Path;

use crate::disk;
use crate::error::{Error, Result};
use crate::mailbox::checkpoints::store;
use crate::mailbox::documents::checkpoint::CheckpointDocument;
use crate::mailbox::documents::question::Question;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::read_question::modified;

/// Copies the checkpoint that a question names, if it lies under a temporary folder and the copy is missing or has
/// another time. Not only an older one: a clock that was ahead once dates a copy later than the original that comes after it.
pub fn keep_copy(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let Some(path) = question.checkpoint.as_deref().filter(|p| is_temporary(p)) else { return Ok(()) };
    let copy = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    if path == copy {
        return Ok(());
    }
    // Modification times tell whether an answer is younger than its question, so the copy gets the time of the content it has.
    let mut time = modified(path);
    for _ in 0..10 {
        if disk::exists(&copy) && modified(&copy) == time {
            return Ok(());
        }
        let document = store::read_named(mailbox, path, &question.workflow_id).map_err(|e| gone(path, e))?;
        if holds_another_answer(&copy, &document) {
            return Ok(());
        }
        if modified(path) == time {
            return disk::replace_dated(&copy, &document.to_file()?, time);
        }
        time = modified(path);
    }
    Err(Error::failed(
        format!("{} changes while it is being copied", path.display()),
        "post the question after the checkpoint has been written",
    ))
}

fn gone(path: &Path, error: Error) -> Error {
    if !error.is_missing_file() {
        return error;
    }
    Error::not_found(format!("the checkpoint {} was removed while it was being copied", path.display()), "save it, and post again")
}

/// Whether the copy holds an answer that the original does not: a person wrote it there by hand.
fn holds_another_answer(copy: &Path, original: &CheckpointDocument) -> bool {
    store::read(copy).is_ok_and(|copy| copy.typed.user_answer.is_some() && copy.typed.user_answer != original.typed.user_answer)
}

fn is_temporary(path: &Path) -> bool {
    let temp = std::env::temp_dir();
    [Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm"), temp.as_path()].iter().any(|t| path.starts_with(t))
}
