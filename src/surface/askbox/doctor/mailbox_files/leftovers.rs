//! Temporary files that a program left when it was killed.

use std::path::{Path, PathBuf};

use crate::disk::TEMPORARY_PREFIX;
use crate::id::RoundId;
use crate::mailbox::{Folder, read_question};
use crate::surface::askbox::doctor::checkup::{Checkup, LEFT_OVER, age, entries, name, word};
use crate::time;

/// Looks for them in a folder, and in its subfolders down to `depth`.
pub(in crate::surface::askbox::doctor) fn look(checkup: &mut Checkup, folder: &Path, depth: usize) {
    for entry in entries(folder) {
        let (path, name) = (&entry.path, name(&entry.path));
        if depth > 0 {
            checkup.progress.count(Folder::Runs.name());
        }
        if entry.is_folder() && depth > 0 {
            look(checkup, path, depth - 1);
        }
        if !name.starts_with(TEMPORARY_PREFIX) || !entry.is_file() || age(path) < LEFT_OVER {
            continue;
        }
        let since = time::human(age(path));
        match unretired(path, &name) {
            _ if name.starts_with(crate::gc::GONE) => {
                let said = format!("`askbox gc` was killed {since} ago while it removed this");
                checkup.report("half_done", checkup.shown(path), said, checkup.command("askbox gc"));
            }
            Some(target) => {
                let said = format!("a question was moved aside {since} ago and not put back");
                checkup.report("half_done", checkup.shown(path), said, format!("mv -n {} {}", word(path), word(&target)));
            }
            None => checkup.report(
                "leftover",
                checkup.shown(path),
                format!("left {since} ago by a program that was killed"),
                format!("rm {}", word(path)),
            ),
        }
    }
}

/// Where a pending file belongs that was moved aside as answered but holds another round.
fn unretired(path: &Path, name: &str) -> Option<PathBuf> {
    let round = RoundId::from_file_name(&format!("{}.json", name.strip_prefix(TEMPORARY_PREFIX)?.strip_prefix("retired.")?))?;
    let question = read_question::document(path).ok()?.typed;
    let other = question.question_id != Some(round.question) && question.workflow_id == round.workflow;
    other.then(|| path.with_file_name(round.workflow.file_name()))
}
