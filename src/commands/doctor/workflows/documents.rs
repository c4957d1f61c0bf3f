//! Checks the documents of the mailbox, folder by folder and one at a time. It checks only the newest closed rounds, with the files of their
//! workflows, so its cost does not grow with the history. With `--all-rounds` it checks all. `askbox doctor ID` checks the files of one
//! workflow, and finds them as the programs do.
//!
//! The files in `quarantine/`, each with its reason.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::commands::doctor::checkup::{AT_ONCE, Checkup, age, checkpoint_problem, edit, entries, is_about_content, name, problem, word};
use crate::commands::doctor::workflows::{open_questions, runs};
use askbox_mailbox::listing::recent_rounds::Recent;
use askbox_mailbox::quarantine::{self, reason_of};
use askbox_mailbox::transitions::undo::REFUSED;
use askbox_mailbox::{Error, Folder, Mailbox, Result, RoundId, WorkflowId, children, disk, list, recent_rounds, text, workflows};
use askbox_run::Teller;
use askbox_run::chain::forest;
use askbox_run::view::archived::Archived;

/// Checks every document, or those of the only workflow.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    if let Some((mailbox, id)) = checkup.asked() {
        return look_at_workflow(checkup, &mailbox, &id);
    }
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    let teller = checkup.teller(&mailbox);
    let recent = checkup.recent_workflows();
    let all = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed, Folder::Checkpoints, Folder::Workflows];
    for folder in all {
        checkup.sorted(|checkup| {
            if folder == Folder::Closed && !checkup.all_rounds {
                let newest = checkup.closed.newest.clone();
                return newest.iter().for_each(|round| runs::look(checkup, &teller, folder, round));
            }
            if let (Folder::Checkpoints | Folder::Workflows, Some(recent)) = (folder, &recent) {
                return recent.iter().for_each(|id| check_workflow(checkup, &teller, folder, id));
            }
            for name in entries(&mailbox.folder(folder)).map(|e| name(&e.path)) {
                checkup.progress.count(folder.name());
                match folder {
                    Folder::Running | Folder::Parked | Folder::Closed => {
                        RoundId::from_file_name(&name).iter().for_each(|round| runs::look(checkup, &teller, folder, round));
                    }
                    _ => WorkflowId::from_file_name(&name).iter().for_each(|id| check_workflow(checkup, &teller, folder, id)),
                }
            }
        });
    }
    quarantined(checkup, &mailbox, None);
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
    let record = match workflows::read(mailbox, id) {
        Ok(record) => record,
        Err(error) if is_about_content(&path, &error) => {
            return checkup.report("unreadable", checkup.shown(&path), problem(&error), edit(&path));
        }
        Err(_) => return,
    };
    let parent = record.and_then(|record| record.typed.parent);
    let Some(parent) = parent.filter(|parent| !children::is_noted(mailbox, parent, id)) else { return };
    let folder = mailbox.runs_of_workflow(&parent).join(children::CHILDREN);
    let said = format!("it is a child of {parent} but not among the names in runs/{parent}/children, so its tree does not show it");
    let mend = format!("mkdir -p -m 700 {} && touch {}", word(&folder), word(&folder.join(id.as_str())));
    checkup.report("unlisted", checkup.shown(&path), said, mend);
}

/// Fails if no file of the workflow exists.
///
/// # Errors
/// [`Error::NotFound`].
pub(in crate::commands::doctor) fn check_known(mailbox: &Mailbox, id: &WorkflowId) -> Result<()> {
    let is_known = OF_WORKFLOW.iter().any(|folder| disk::exists(mailbox.document(*folder, id)))
        || list::all_names(mailbox, Folder::Quarantine)?.iter().any(|name| quarantine::is_of(name, id));
    if !is_known && Archived::latest(mailbox, id)?.is_none() {
        forest::check_known(mailbox, id).map_err(|e| Error::not_found(e.to_string(), "check the whole mailbox: askbox doctor"))?;
    }
    Ok(())
}

/// The folders with one document of a workflow.
const OF_WORKFLOW: [Folder; 4] = [Folder::Pending, Folder::Answered, Folder::Checkpoints, Folder::Workflows];

/// The documents of a workflow with their paths, each by its folder, and those of its rounds by the round.
pub(in crate::commands::doctor) fn of_workflow(
    checkup: &Checkup,
    mailbox: &Mailbox,
    id: &WorkflowId,
) -> Vec<(Folder, Option<RoundId>, PathBuf)> {
    let claimed = [Folder::Running, Folder::Parked].into_iter().flat_map(|folder| {
        let rounds: Vec<_> = list::round_names(mailbox, folder).filter(|round| round.workflow == *id).collect();
        rounds.into_iter().map(move |round| (folder, round))
    });
    let closed = recent(checkup, mailbox, id).rounds.into_iter().map(|round| (Folder::Closed, round));
    let mut rounds: Vec<_> = claimed.chain(closed).collect();
    rounds.sort_by(|(_, one), (_, other)| one.cmp(other));
    let own = OF_WORKFLOW.into_iter().map(|folder| (folder, None, mailbox.document(folder, id)));
    let rounds = rounds.into_iter().map(|(folder, round)| {
        let path = mailbox.round(folder, &round);
        (folder, Some(round), path)
    });
    own.chain(rounds).filter(|(_, _, path)| disk::exists(path)).collect()
}

/// The rounds of a workflow that are checked: its newest ones, or all.
pub(in crate::commands::doctor) fn recent(checkup: &Checkup, mailbox: &Mailbox, id: &WorkflowId) -> Recent {
    match checkup.all_rounds {
        true => Recent { rounds: list::rounds_of(mailbox, id).collect(), are_all: true },
        false => recent_rounds::recent(mailbox, id),
    }
}

/// Checks the documents of a workflow.
fn look_at_workflow(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) {
    let teller = checkup.teller(mailbox);
    for (folder, round, _) in of_workflow(checkup, mailbox, id) {
        match round {
            Some(round) => runs::look(checkup, &teller, folder, &round),
            None => check_workflow(checkup, &teller, folder, id),
        }
    }
    quarantined(checkup, mailbox, Some(id));
}

/// Reports every quarantined file with its reason. With `only`, reports the files of this one workflow.
fn quarantined(checkup: &mut Checkup, mailbox: &Mailbox, only: Option<&WorkflowId>) {
    let folder = mailbox.folder(Folder::Quarantine);
    let mut names = list::all_names(mailbox, Folder::Quarantine).unwrap_or_default();
    names.retain(|name| only.is_none_or(|workflow| quarantine::is_of(name, workflow)));
    names.sort();
    for name in &names {
        let path = folder.join(name);
        if let Some(of) = name.as_bytes().strip_suffix(b".reason") {
            if names.binary_search_by(|n| n.as_bytes().cmp(of)).is_err() && age(&path) >= AT_ONCE {
                let said = "the quarantined file that it explains does not exist";
                checkup.report("leftover", checkup.shown(&path), said, format!("rm {}", word(&path)));
            }
            continue;
        }
        let reason = reason_of(&path);
        let why = disk::read(&reason, 1 << 20).map(|b| String::from_utf8_lossy(&b).into_owned());
        let why = why.map_or_else(|_| "no reason is recorded".to_owned(), |why| text::excerpt(why.trim(), 400));
        let (file, reason) = (word(&path), word(&reason));
        let mut said = why.clone();
        let mut discard = format!("rm -f {file} {reason}");
        let (kind, mend) = if disk::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            // A folder, for example, is no document that could be repaired and moved back.
            said += "; it is not a regular file";
            discard = format!("rm -r {file} && rm -f {reason}");
            let aside = word(&checkup.root.with_file_name(name));
            ("quarantined", format!("mv -n {file} {aside}.aside && rm -f {reason}"))
        } else if let Some(workflow) = of_refused(&path, &why) {
            let waits = disk::exists(mailbox.document(Folder::Pending, &workflow));
            ("refused", if waits { checkup.command(&format!("ask-answer show {workflow}")) } else { discard.clone() })
        } else {
            ("quarantined", restore(mailbox, &path, &why))
        };
        checkup.report(kind, checkup.shown(&path), format!("{said} (to discard it: {discard})"), mend);
    }
}

/// The workflow, if the file is the copy of an answer that did not count. Its question waits again, so the copy does not have to be
/// repaired.
fn of_refused(path: &Path, said: &str) -> Option<WorkflowId> {
    let (name, _) = path.file_name()?.to_str()?.rsplit_once(".json")?;
    said.contains(&format!("/: {REFUSED}")).then(|| name.parse().ok()).flatten()
}

/// The command that edits a quarantined file and moves it back. The reason names the original folder: `… from FOLDER/: …`.
fn restore(mailbox: &Mailbox, path: &Path, reason: &str) -> String {
    let from = Folder::all().find(|f| reason.contains(&format!(" from {}/: ", f.name()))).unwrap_or(Folder::Pending);
    let name = path.file_name().unwrap_or_default().as_bytes();
    // A number follows the name if a file of that name was already in quarantine.
    let end = name.windows(5).rposition(|part| part == b".json").map_or(name.len(), |at| at + 5);
    let target = mailbox.folder(from).join(OsStr::from_bytes(&name[..end]));
    format!("{} && mv -n {} {} && rm -f {}", edit(path), word(path), word(&target), word(&reason_of(path)))
}
