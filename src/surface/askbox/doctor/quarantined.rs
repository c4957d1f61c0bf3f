//! The files in `quarantine/`, each with its reason.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::mailbox::{Folder, Mailbox, list};
use crate::surface::askbox::doctor::checkup::{AT_ONCE, Checkup, age, edit, word};
use crate::text;

/// Reports every quarantined file, with its reason.
pub(super) fn look(checkup: &mut Checkup, mailbox: &Mailbox) {
    let folder = mailbox.folder(Folder::Quarantine);
    let mut names = list::all_names(mailbox, Folder::Quarantine).unwrap_or_default();
    names.sort();
    for name in &names {
        let path = folder.join(name);
        if let Some(of) = name.as_bytes().strip_suffix(b".reason") {
            if !names.iter().any(|n| n.as_bytes() == of) && age(&path) >= AT_ONCE {
                checkup.report(
                    "leftover",
                    checkup.shown(&path),
                    "the quarantined file that it explains does not exist",
                    format!("rm {}", word(&path)),
                );
            }
            continue;
        }
        let reason = reason_of(&path);
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
    let name = path.file_name().unwrap_or_default().as_bytes();
    // A number follows the name where a file of that name was already in quarantine.
    let end = name.windows(5).rposition(|part| part == b".json").map_or(name.len(), |at| at + 5);
    let target = mailbox.folder(from).join(OsStr::from_bytes(&name[..end]));
    format!("{} && mv -n {} {} && rm -f {}", edit(path), word(path), word(&target), word(&reason_of(path)))
}

fn reason_of(path: &Path) -> PathBuf {
    let mut reason = path.as_os_str().to_owned();
    reason.push(".reason");
    reason.into()
}
