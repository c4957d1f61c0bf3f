//! The files in `quarantine/`, each with its reason.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::commands::doctor::checkup::{AT_ONCE, Checkup, age, edit, word};
use askbox_mailbox::listing::list;
use askbox_mailbox::quarantine::reason_of;
use askbox_mailbox::transitions::refuse::REFUSED;
use askbox_mailbox::{Folder, Mailbox, WorkflowId, disk, quarantine, text};

/// Reports every quarantined file with its reason. With `only`, reports the files of this one workflow.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup, mailbox: &Mailbox, only: Option<&WorkflowId>) {
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
    let from = Folder::ALL.into_iter().find(|f| reason.contains(&format!(" from {}/: ", f.name()))).unwrap_or(Folder::Pending);
    let name = path.file_name().unwrap_or_default().as_bytes();
    // A number follows the name if a file of that name was already in quarantine.
    let end = name.windows(5).rposition(|part| part == b".json").map_or(name.len(), |at| at + 5);
    let target = mailbox.folder(from).join(OsStr::from_bytes(&name[..end]));
    format!("{} && mv -n {} {} && rm -f {}", edit(path), word(path), word(&target), word(&reason_of(path)))
}
