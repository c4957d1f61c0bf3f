//! The files that a prompt names. The agent may read them without asking for permission.

use std::path::PathBuf;

use crate::disk;
use crate::mailbox::documents::question::Content;
use crate::mailbox::{Folder, Mailbox, Question, checkpoints};
use crate::run::attempt::record::Run;

/// All files that the prompt of an attempt can name.
#[must_use]
pub fn named(mailbox: &Mailbox, question: &Question, run: &Run) -> Vec<PathBuf> {
    checkpoint(mailbox, question).into_iter().chain([long_answer(mailbox, run)]).chain(of_task(question)).collect()
}

/// The workflow's checkpoint: the one that the question names, if it can be read, else the one in the mailbox.
pub(super) fn checkpoint(mailbox: &Mailbox, question: &Question) -> Option<PathBuf> {
    let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let named = question.checkpoint.as_ref().filter(|p| **p == own || checkpoints::store::read_for(p, &question.workflow_id).is_ok());
    named.cloned().or_else(|| disk::exists(&own).then_some(own))
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
        Content::Task { reads, .. } => reads.to_vec(),
        Content::Results { results, .. } => results.iter().filter_map(|r| r.file.clone()).collect(),
    }
}
