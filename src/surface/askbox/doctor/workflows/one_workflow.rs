//! `askbox doctor ID`: the files of one workflow, found as the programs find them. The cost grows with its rounds.

use crate::chain::forest;
use crate::disk;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::family::awaits;
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox};
use crate::surface::askbox::doctor::checkup::Checkup;
use crate::surface::askbox::doctor::mailbox_files::{files, leftovers, quarantined};
use crate::surface::askbox::doctor::workflows::{documents, waits};

/// Checks the documents, rounds, runs and waits of a workflow.
///
/// # Errors
/// [`Error::NotFound`] where no file of the workflow exists.
pub(in crate::surface::askbox::doctor) fn look(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) -> Result<()> {
    let of_workflow = [Folder::Pending, Folder::Answered, Folder::Checkpoints, Folder::Workflows];
    let is_known = of_workflow.iter().any(|folder| disk::exists(mailbox.document(*folder, id)))
        || quarantined::names(mailbox).iter().any(|name| quarantined::is_of(name, id));
    if !is_known {
        forest::check_known(mailbox, id).map_err(|e| Error::not_found(e.to_string(), "check the whole mailbox: askbox doctor"))?;
    }
    for folder in of_workflow {
        let path = mailbox.document(folder, id);
        if disk::exists(&path) {
            files::file(checkup, &path);
            documents::of_workflow(checkup, mailbox, folder, id);
        }
    }
    let claimed = [Folder::Running, Folder::Parked].into_iter().flat_map(|folder| {
        let rounds: Vec<_> = list::round_names(mailbox, folder).filter(|round| round.workflow == *id).collect();
        rounds.into_iter().map(move |round| (folder, round))
    });
    let closed = list::rounds_of(mailbox, id).map(|round| (Folder::Closed, round));
    let mut rounds: Vec<_> = claimed.chain(closed).filter(|(folder, round)| disk::exists(mailbox.round(*folder, round))).collect();
    rounds.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (folder, round) in rounds {
        files::file(checkup, &mailbox.round(folder, &round));
        documents::of_round(checkup, mailbox, folder, &round);
    }
    leftovers::look(checkup, &mailbox.runs_of_workflow(id), 2);
    let mut parents = awaits::of_child(mailbox, id)?;
    parents.push(id.clone());
    for parent in parents {
        waits::of_parent(checkup, mailbox, &parent);
    }
    quarantined::look(checkup, mailbox, Some(id));
    Ok(())
}
