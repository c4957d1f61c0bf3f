//! Checks the documents of the mailbox, folder by folder and one at a time. Of the closed rounds, it checks the newest ones, so that its
//! cost does not grow with the history; with `--all-rounds` it checks all. `askbox doctor ID` checks the files of one workflow, found in the
//! same way as the programs find them.

use crate::commands::doctor::checkup::{Checkup, checkpoint_problem, edit, entries, is_about_content, name, problem, word};
use crate::commands::doctor::mailbox_files::{files, quarantined};
use crate::commands::doctor::workflows::{open_questions, runs, waits};
use askbox_mailbox::disk::{self, Entry};
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::family::{awaits, children};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::listing::recent_rounds::{self, Recent};
use askbox_mailbox::{Folder, Mailbox, workflows};
use askbox_run::chain::forest;
use askbox_run::story::Teller;
use askbox_run::view::archived;

/// Checks every document.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let teller = checkup.teller(&mailbox);
    let all = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed, Folder::Checkpoints, Folder::Workflows];
    for folder in all {
        if folder == Folder::Closed && !checkup.all_rounds {
            checkup.sorted(|checkup| newest_closed(checkup, &teller));
            continue;
        }
        checkup.sorted(|checkup| {
            for name in entries(&mailbox.folder(folder)).map(|e| name(&e.path)) {
                checkup.progress.count(folder.name());
                match folder {
                    Folder::Running | Folder::Parked | Folder::Closed => {
                        RoundId::from_file_name(&name).iter().for_each(|round| check_round(checkup, &teller, folder, round));
                    }
                    _ => WorkflowId::from_file_name(&name).iter().for_each(|id| check_workflow(checkup, &teller, folder, id)),
                }
            }
        });
    }
    checkup.sorted(|checkup| all_leftovers(checkup, &mailbox));
    quarantined::look(checkup, &mailbox, None);
}

/// Checks the rounds that were closed last.
fn newest_closed(checkup: &mut Checkup, teller: &Teller<'_>) {
    let mailbox = teller.mailbox();
    for round in checkup.closed.newest.clone() {
        // The files are checked with the others of the folder, if these are listed.
        if checkup.lists_closed() || files::file(checkup, &mailbox.round(Folder::Closed, &round)) {
            check_round(checkup, teller, Folder::Closed, &round);
        }
    }
}

/// Looks for temporary files below the folders in `runs/`.
fn all_leftovers(checkup: &mut Checkup, mailbox: &Mailbox) {
    for entry in entries(&mailbox.folder(Folder::Runs)).filter(Entry::is_folder) {
        match name(&entry.path).parse() {
            Ok(workflow) => leftovers_of(checkup, mailbox, &recent(checkup, mailbox, &workflow), &workflow),
            Err(_) => files::look_for_leftovers(checkup, &entry.path, 2),
        }
    }
}

/// Looks for temporary files in `runs/W`, in the folders of these rounds.
fn leftovers_of(checkup: &mut Checkup, mailbox: &Mailbox, checked: &Recent, id: &WorkflowId) {
    if checked.are_all {
        return files::look_for_leftovers(checkup, &mailbox.runs_of_workflow(id), 2);
    }
    checked.rounds.iter().for_each(|round| files::look_for_leftovers(checkup, &mailbox.runs_of(round), 1));
}

/// The rounds of a workflow that are checked: its newest ones, or all.
fn recent(checkup: &Checkup, mailbox: &Mailbox, id: &WorkflowId) -> Recent {
    match checkup.all_rounds {
        true => Recent { rounds: list::rounds_of(mailbox, id).collect(), are_all: true },
        false => recent_rounds::recent(mailbox, id),
    }
}

/// Checks a document of a round.
fn check_round(checkup: &mut Checkup, teller: &Teller<'_>, folder: Folder, round: &RoundId) {
    runs::look(checkup, teller, folder, round);
}

/// Checks a document of a workflow: its question, its checkpoint or its record.
fn check_workflow(checkup: &mut Checkup, teller: &Teller<'_>, folder: Folder, id: &WorkflowId) {
    let mailbox = teller.mailbox();
    match folder {
        Folder::Pending => open_questions::check_pending(checkup, mailbox, id),
        Folder::Answered => open_questions::check_answered(checkup, teller, id),
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

/// Checks the documents, rounds, runs and waits of a workflow.
///
/// # Errors
/// [`Error::NotFound`] if no file of the workflow exists.
pub(in crate::commands::doctor) fn look_at_workflow(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) -> Result<()> {
    let of_workflow = [Folder::Pending, Folder::Answered, Folder::Checkpoints, Folder::Workflows];
    let is_known = of_workflow.iter().any(|folder| disk::exists(mailbox.document(*folder, id)))
        || quarantined::names(mailbox).iter().any(|name| quarantined::is_of(name, id));
    if !is_known && archived::latest(mailbox, id)?.is_none() {
        forest::check_known(mailbox, id).map_err(|e| Error::not_found(e.to_string(), "check the whole mailbox: askbox doctor"))?;
    }
    let teller = checkup.teller(mailbox);
    for folder in of_workflow {
        let path = mailbox.document(folder, id);
        if disk::exists(&path) {
            files::file(checkup, &path);
            check_workflow(checkup, &teller, folder, id);
        }
    }
    let claimed = [Folder::Running, Folder::Parked].into_iter().flat_map(|folder| {
        let rounds: Vec<_> = list::round_names(mailbox, folder).filter(|round| round.workflow == *id).collect();
        rounds.into_iter().map(move |round| (folder, round))
    });
    let checked = recent(checkup, mailbox, id);
    let closed = checked.rounds.iter().map(|round| (Folder::Closed, round.clone()));
    let mut rounds: Vec<_> = claimed.chain(closed).filter(|(folder, round)| disk::exists(mailbox.round(*folder, round))).collect();
    rounds.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (folder, round) in rounds {
        files::file(checkup, &mailbox.round(folder, &round));
        check_round(checkup, &teller, folder, &round);
    }
    leftovers_of(checkup, mailbox, &checked, id);
    let mut parents = awaits::of_child(mailbox, id)?;
    parents.push(id.clone());
    for parent in parents {
        waits::of_parent(checkup, mailbox, &parent);
    }
    quarantined::look(checkup, mailbox, Some(id));
    Ok(())
}
