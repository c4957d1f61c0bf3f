//! The files that a prompt names. The agent may read them without asking for permission.

use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::Error;
use crate::mailbox::checkpoints::store;
use crate::mailbox::documents::content::Content;
use crate::mailbox::{Folder, Mailbox, Question};
use crate::run::attempt::record::Run;

/// All files that the prompt of an attempt can name.
#[must_use]
pub fn named(mailbox: &Mailbox, question: &Question, run: &Run) -> Vec<PathBuf> {
    let checkpoint = match checkpoint(mailbox, question) {
        Checkpoint::At(path) => Some(path),
        Checkpoint::Unusable(..) | Checkpoint::None => None,
    };
    checkpoint.into_iter().chain([long_answer(mailbox, run)]).chain(of_task(question)).collect()
}

/// The checkpoint that a run resumes from.
pub(super) enum Checkpoint<'a> {
    /// The one that the question names, if it says that it is this workflow's; else the one in the mailbox.
    At(PathBuf),
    /// The question names this file, and the mailbox has no checkpoint. The agent gets no permission to read the file.
    Unusable(&'a Path, Error),
    /// None was saved.
    None,
}

pub(super) fn checkpoint<'a>(mailbox: &Mailbox, question: &'a Question) -> Checkpoint<'a> {
    let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let named = question.checkpoint.as_deref().filter(|path| *path != own);
    let unusable = match named.map(|path| (path, store::read_named(mailbox, path, &question.workflow_id))) {
        Some((path, Ok(_))) => return Checkpoint::At(path.to_path_buf()),
        Some((path, Err(e))) => Some((path, e)),
        None => None,
    };
    // A link there could lead to any file.
    if disk::metadata(&own).is_ok_and(|m| m.is_file()) {
        return Checkpoint::At(own);
    }
    let lost = || Some((question.checkpoint.as_deref()?, Error::not_found("it does not exist", "save it again")));
    unusable.or_else(lost).map_or(Checkpoint::None, |(path, e)| Checkpoint::Unusable(path, e))
}

/// The file for an answer that is too long for a prompt.
pub(super) fn long_answer(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join("answer.txt")
}

/// The files that a task or the end of a child names.
fn of_task(question: &Question) -> Vec<PathBuf> {
    match question.content() {
        // An agent or an unknown program wrote the question, so it grants no permissions.
        Content::Question => Vec::new(),
        Content::Task { .. } => question.reads.clone(),
        Content::Results { results, .. } => results.iter().filter_map(|r| r.file.clone()).collect(),
    }
}
