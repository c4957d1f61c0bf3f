//! The files in `quarantine/`, each with its reason.

use std::path::Path;

use crate::disk;
use crate::mailbox::{Folder, Mailbox, list};
use crate::surface::askbox::doctor::checkup::{AT_ONCE, Checkup, age, edit, word};
use crate::text;

/// Reports every quarantined file, with its reason.
pub(super) fn look(checkup: &mut Checkup, mailbox: &Mailbox) {
    let folder = mailbox.folder(Folder::Quarantine);
    let mut names = list::names(mailbox, Folder::Quarantine).unwrap_or_default();
    names.sort();
    for name in &names {
        let path = folder.join(name);
        if let Some(of) = name.strip_suffix(".reason") {
            if !names.iter().any(|n| n == of) && age(&path) >= AT_ONCE {
                checkup.report(
                    "leftover",
                    checkup.shown(&path),
                    "the quarantined file that it explains does not exist",
                    format!("rm {}", word(&path)),
                );
            }
            continue;
        }
        let reason = folder.join(format!("{name}.reason"));
        let why = disk::read(&reason, 1 << 20).map(|b| String::from_utf8_lossy(&b).into_owned());
        let said = why.map_or_else(|_| "no reason is recorded".to_owned(), |why| text::excerpt(why.trim(), 400));
        let (file, reason) = (word(&path), word(&reason));
        checkup.report(
            "quarantined",
            checkup.shown(&path),
            format!("{said} (to discard it: rm -f {file} {reason})"),
            restore(mailbox, &path, &said),
        );
    }
}

/// The command that edits a quarantined file and moves it back. The reason names the folder: `… from FOLDER/: …`.
fn restore(mailbox: &Mailbox, path: &Path, reason: &str) -> String {
    let from = Folder::ALL.into_iter().find(|f| reason.contains(&format!(" from {}/: ", f.name()))).unwrap_or(Folder::Pending);
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    // A number follows the name where a file of that name was already in quarantine.
    let own = match name.rsplit_once(".json") {
        Some((stem, _)) => format!("{stem}.json"),
        None => name,
    };
    let target = mailbox.folder(from).join(own);
    format!(
        "{} && mv -n {} {} && rm -f {}",
        edit(path),
        word(path),
        word(&target),
        word(&path.with_file_name(format!("{}.reason", path.file_name().unwrap_or_default().to_string_lossy())))
    )
}
