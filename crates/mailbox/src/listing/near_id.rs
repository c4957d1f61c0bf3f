//! The workflow that a misspelt id probably means. Only names are read. A large mailbox is not searched at all.

use crate::disk;
use crate::error::Error;
use crate::id::WorkflowId;
use crate::layout::{Folder, Mailbox};
use crate::listing::list;
use crate::spelling;

/// A mailbox with more names than this is not searched.
const MOST_NAMES: usize = 10_000;

/// Returns the beginning of a hint, such as ``did you mean `docs-42`? ``. Empty if no workflow has a similar id.
pub fn did_you_mean(mailbox: &Mailbox, misspelt: &WorkflowId) -> String {
    nearest(mailbox, misspelt).map_or_else(String::new, |meant| format!("did you mean `{meant}`? "))
}

/// The error for a workflow without any round: it never asked.
pub(crate) fn never_asked(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let hint = (format!("{}list the questions", did_you_mean(mailbox, workflow)), "ask-answer list");
    Error::not_found(format!("no question of {workflow} is pending"), hint)
}

fn nearest(mailbox: &Mailbox, misspelt: &WorkflowId) -> Option<WorkflowId> {
    let documents =
        [Folder::Pending, Folder::Answered].into_iter().filter_map(|folder| list::each_workflow(mailbox, folder).ok()).flatten();
    let documents = documents.filter_map(Result::ok);
    let runs = disk::entries(&mailbox.folder(Folder::Runs)).into_iter().flatten().flatten();
    let runs = runs.filter_map(|entry| entry.name.to_str()?.parse::<WorkflowId>().ok());
    let mut near = Vec::new();
    for (n, known) in documents.chain(runs).enumerate() {
        if n >= MOST_NAMES {
            return None;
        }
        if known != *misspelt && spelling::is_misspelt(misspelt.as_str(), known.as_str()) {
            near.push(known);
        }
    }
    near.into_iter().min_by_key(|known| (strsim::osa_distance(known.as_str(), misspelt.as_str()), known.clone()))
}
