//! Every document of the mailbox, folder by folder.

use crate::id::WorkflowId;
use crate::mailbox::{Folder, list, workflows};
use crate::surface::askbox::doctor::checkup::{Checkup, checkpoint_problem, edit, is_about_content, problem, word};
use crate::surface::askbox::doctor::{open_questions, quarantined, runs};

/// Checks every document.
pub(super) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    for id in sorted(list::workflows(&mailbox, Folder::Pending)) {
        open_questions::check_pending(checkup, &mailbox, &id);
    }
    for id in sorted(list::workflows(&mailbox, Folder::Answered)) {
        open_questions::check_answered(checkup, &mailbox, &id);
    }
    for folder in [Folder::Running, Folder::Parked, Folder::Closed] {
        let mut rounds: Vec<_> = list::round_names(&mailbox, folder).collect();
        rounds.sort();
        for round in rounds {
            runs::look(checkup, &mailbox, folder, &round);
        }
    }
    for id in sorted(list::workflows(&mailbox, Folder::Checkpoints)) {
        let path = mailbox.document(Folder::Checkpoints, &id);
        if let Some(error) = checkpoint_problem(&mailbox, &path, &id).filter(|e| is_about_content(&path, e)) {
            let mend = format!("{} && checkpoint validate {}", edit(&path), word(&path));
            checkup.report("checkpoint", id.as_str(), problem(&error), mend);
        }
    }
    for id in sorted(list::workflows(&mailbox, Folder::Workflows)) {
        let path = mailbox.document(Folder::Workflows, &id);
        if let Err(error) = workflows::read(&mailbox, &id)
            && is_about_content(&path, &error)
        {
            checkup.report("unreadable", checkup.shown(&path), problem(&error), edit(&path));
        }
    }
    quarantined::look(checkup, &mailbox);
}

fn sorted(ids: crate::Result<Vec<WorkflowId>>) -> Vec<WorkflowId> {
    let mut ids = ids.unwrap_or_default();
    ids.sort();
    ids
}
