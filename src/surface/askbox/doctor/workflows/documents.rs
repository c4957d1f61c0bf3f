//! Every document of the mailbox, folder by folder and one at a time.

use crate::id::{RoundId, WorkflowId};
use crate::mailbox::family::children;
use crate::mailbox::{Folder, Mailbox, workflows};
use crate::surface::askbox::doctor::checkup::{Checkup, checkpoint_problem, edit, entries, is_about_content, name, problem, word};
use crate::surface::askbox::doctor::mailbox_files::quarantined;
use crate::surface::askbox::doctor::workflows::{open_questions, runs};

/// Checks every document.
pub(in crate::surface::askbox::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let all = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed, Folder::Checkpoints, Folder::Workflows];
    for folder in all {
        checkup.sorted(|checkup| {
            for name in entries(&mailbox.folder(folder)).map(|e| name(&e.path)) {
                checkup.progress.count(folder.name());
                match folder {
                    Folder::Running | Folder::Parked | Folder::Closed => {
                        RoundId::from_file_name(&name).iter().for_each(|round| of_round(checkup, &mailbox, folder, round));
                    }
                    _ => WorkflowId::from_file_name(&name).iter().for_each(|id| of_workflow(checkup, &mailbox, folder, id)),
                }
            }
        });
    }
    quarantined::look(checkup, &mailbox, None);
}

/// Checks a document of a round.
pub(in crate::surface::askbox::doctor) fn of_round(checkup: &mut Checkup, mailbox: &Mailbox, folder: Folder, round: &RoundId) {
    runs::look(checkup, mailbox, folder, round);
}

/// Checks a document of a workflow: its question, its checkpoint or its record.
pub(in crate::surface::askbox::doctor) fn of_workflow(checkup: &mut Checkup, mailbox: &Mailbox, folder: Folder, id: &WorkflowId) {
    match folder {
        Folder::Pending => open_questions::check_pending(checkup, mailbox, id),
        Folder::Answered => open_questions::check_answered(checkup, mailbox, id),
        Folder::Checkpoints => checkpoint(checkup, mailbox, id),
        _ => record(checkup, mailbox, id),
    }
}

fn checkpoint(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) {
    let path = mailbox.document(Folder::Checkpoints, id);
    if let Some(error) = checkpoint_problem(mailbox, &path, id).filter(|e| is_about_content(&path, e)) {
        let mend = format!("{} && checkpoint validate {}", edit(&path), word(&path));
        checkup.report("checkpoint", id.as_str(), problem(&error), mend);
    }
}

fn record(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) {
    let path = mailbox.document(Folder::Workflows, id);
    match workflows::read(mailbox, id) {
        Err(error) if is_about_content(&path, &error) => {
            checkup.report("unreadable", checkup.shown(&path), problem(&error), edit(&path));
        }
        Ok(Some(record)) => {
            if let Some(parent) = record.typed.parent.filter(|parent| !children::is_noted(mailbox, parent, id)) {
                let folder = mailbox.runs_of_workflow(&parent).join(children::CHILDREN);
                let said =
                    format!("it is a child of {parent} but not among the names in runs/{parent}/children, so its tree does not show it");
                let mend = format!("mkdir -p -m 700 {} && touch {}", word(&folder), word(&folder.join(id.as_str())));
                checkup.report("unlisted", checkup.shown(&path), said, mend);
            }
        }
        _ => {}
    }
}
