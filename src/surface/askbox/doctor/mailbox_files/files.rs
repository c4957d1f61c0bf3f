//! Owners, modes, links and names of the mailbox's folders and files.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::Error;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::due::timers::Timer;
use crate::mailbox::{Folder, quarantine};
use crate::surface::askbox::doctor::checkup::{Checkup, LEFT_OVER, age, entries, name, word};
use crate::surface::askbox::doctor::mailbox_files::leftovers;
use crate::surface::program;

/// Reports that there is no mailbox, where somebody named one: it may be misspelt, or not mounted. The usual one is made by the first post.
pub(in crate::surface::askbox::doctor) fn no_mailbox(checkup: &mut Checkup, is_flag: bool) {
    if !is_flag && program::env("ASKBOX_DIR").is_none() {
        return;
    }
    let by = if is_flag { "--mailbox" } else { "$ASKBOX_DIR" };
    let what = match disk::exists(&checkup.root) {
        true => "that folder holds no mailbox, so a watcher waits for one: it is misspelt, its filesystem is not mounted there",
        false => "there is no such folder: it is misspelt or not mounted",
    };
    let said = format!("{by} names it, and {what}, or nothing was asked yet. If nothing was, this makes the mailbox");
    // A folder without one of the mailbox's folders is none. The mode is that of each folder that is named here.
    let (root, first) = (word(&checkup.root), word(&checkup.root.join(Folder::Pending.name())));
    checkup.report("no_mailbox", checkup.root.display().to_string(), said, format!("mkdir -p -m 700 {root} {first}"));
}

/// Checks the mailbox folder by folder.
pub(in crate::surface::askbox::doctor) fn look(checkup: &mut Checkup) {
    let root = checkup.root.clone();
    if disk::metadata(&root).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return;
    }
    folder(checkup, &root, true);
    leftovers::look(checkup, &root, 0);
    let is_told_below = |name: &str| Folder::ALL.iter().any(|f| f.name() == name) || name.starts_with("audit.jsonl");
    checkup.sorted(|checkup| links(checkup, &root, is_told_below));
    checkup.sorted(|checkup| links(checkup, &root.join(Folder::Runs.name()), |_| false));
    for kind in Folder::ALL {
        let path = root.join(kind.name());
        if disk::exists(&path) && folder(checkup, &path, false) {
            let depth = match kind {
                Folder::Runs => 3,
                Folder::Awaits => 1,
                _ => 0,
            };
            checkup.sorted(|checkup| leftovers::look(checkup, &path, depth));
            checkup.sorted(|checkup| if kind == Folder::Awaits { waits(checkup, &path) } else { files(checkup, kind, &path) });
        }
    }
    let is_audit = |path: &PathBuf| name(path).starts_with("audit.jsonl");
    checkup.sorted(|checkup| {
        for path in entries(&root).map(|e| e.path).filter(is_audit) {
            file(checkup, &path);
        }
    });
}

/// Reports the symbolic links in a folder, except those with a name that another check reports.
fn links(checkup: &mut Checkup, folder: &Path, is_told_elsewhere: impl Fn(&str) -> bool) {
    for entry in entries(folder).filter(disk::Entry::is_link).filter(|e| !is_told_elsewhere(&name(&e.path))) {
        file(checkup, &entry.path);
    }
}

/// Checks a folder of the mailbox; returns whether its files can be checked.
fn folder(checkup: &mut Checkup, path: &Path, is_root: bool) -> bool {
    let Ok(meta) = disk::metadata(path) else { return false };
    let shown = if is_root { path.display().to_string() } else { checkup.shown(path) };
    let mode = meta.permissions().mode() & 0o777;
    // The check is the programs' own; each of its errors gets a command.
    match disk::check_folder(path) {
        Err(Error::NotFound { .. }) => return false,
        Err(error) if meta.is_symlink() => {
            let target = fs::canonicalize(path).unwrap_or_default();
            let mend = if is_root { format!("export ASKBOX_DIR={}", word(&target)) } else { format!("rm {}", word(path)) };
            checkup.report("link", shown, format!("{error}, to {}; links are not followed", target.display()), mend);
            return false;
        }
        Err(error) if !meta.is_dir() => {
            checkup.report("no_folder", shown, error.to_string(), format!("mv -n {0} {0}.aside", word(path)));
            return false;
        }
        Err(error) if meta.uid() != rustix::process::geteuid().as_raw() => {
            checkup.report("owner", shown, error.to_string(), of_a_mailbox(path, chown(path)));
        }
        Err(error) => {
            let private = if is_root { "700" } else { "go-w" };
            checkup.report("mode", shown, error.to_string(), of_a_mailbox(path, format!("chmod {private} {}", word(path))));
        }
        Ok(()) if mode & 0o700 != 0o700 => {
            checkup.report(
                "mode",
                shown,
                format!("you lack permission to read, write or enter it (mode {mode:04o})"),
                format!("chmod u+rwx {}", word(path)),
            );
        }
        Ok(()) if is_root && mode & 0o077 != 0 => {
            checkup.report(
                "mode",
                shown,
                format!("other users may read it (mode {mode:04o})"),
                of_a_mailbox(path, format!("chmod 700 {}", word(path))),
            );
        }
        Ok(()) => {}
    }
    true
}

/// The command for a folder of a mailbox. Nothing is to be changed about another folder, such as `/tmp`.
fn of_a_mailbox(path: &Path, command: String) -> String {
    if disk::is_of_a_mailbox(path) { command } else { "export ASKBOX_DIR=~/.claude/questions".to_owned() }
}

fn chown(path: &Path) -> String {
    format!("sudo chown {} {}", rustix::process::geteuid().as_raw(), word(path))
}

/// Checks a file's type; returns whether its content can be checked.
pub(in crate::surface::askbox::doctor) fn file(checkup: &mut Checkup, path: &Path) -> bool {
    let Ok(meta) = disk::metadata(path) else { return false };
    let shown = checkup.shown(path);
    if meta.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        checkup.report(
            "link",
            shown,
            format!("is a symbolic link to {}; links are not followed", target.display()),
            format!("rm {}", word(path)),
        );
        return false;
    }
    if !meta.is_file() {
        let mend = format!("mv -n {} {}", word(path), word(&checkup.root.join(Folder::Quarantine.name())));
        checkup.report("no_file", shown, "is not a regular file", mend);
        return false;
    }
    owner_and_mode(checkup, path, &meta)
}

/// Checks a file's owner and mode; returns whether its content can be checked.
fn owner_and_mode(checkup: &mut Checkup, path: &Path, meta: &Metadata) -> bool {
    let (shown, mode) = (checkup.shown(path), meta.permissions().mode() & 0o777);
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me && meta.uid() != 0 {
        checkup.report("owner", shown, format!("belongs to user {}, and is not read", meta.uid()), chown(path));
        return false;
    }
    if mode & 0o022 != 0 {
        checkup.report("mode", shown, format!("other users may write it (mode {mode:04o})"), format!("chmod go-w {}", word(path)));
    } else if mode & 0o400 == 0 {
        checkup.report("mode", shown, format!("you lack permission to read it (mode {mode:04o})"), format!("chmod u+rw {}", word(path)));
        return me == 0;
    }
    true
}

/// Checks the files of a folder.
fn files(checkup: &mut Checkup, kind: Folder, folder: &Path) {
    let of_workflows = matches!(kind, Folder::Pending | Folder::Answered | Folder::Checkpoints | Folder::Workflows);
    let of_rounds = matches!(kind, Folder::Running | Folder::Parked | Folder::Closed);
    if kind == Folder::Runs {
        return;
    }
    for path in entries(folder).map(|e| e.path) {
        let name = name(&path);
        checkup.progress.count(kind.name());
        if name.starts_with('.') {
            continue;
        }
        let belongs = match kind {
            _ if of_workflows => WorkflowId::from_file_name(&name).is_some(),
            _ if of_rounds => RoundId::from_file_name(&name).is_some(),
            Folder::Timers => Timer::from_file_name(&name).is_some(),
            _ => true,
        };
        if !file(checkup, &path) || belongs || age(&path) < time_to_settle(&name) {
            continue;
        }
        let mend = match kind {
            Folder::Timers => format!("rm {}", word(&path)),
            _ => format!("mv -n {} {}", word(&path), word(&checkup.root.join(Folder::Quarantine.name()))),
        };
        let form = if of_rounds { "WORKFLOW_ID.QUESTION_ID.json" } else { "WORKFLOW_ID.json" };
        checkup.report("stray", checkup.shown(&path), format!("its name is not {form}, so no program reads it"), mend);
    }
}

/// Checks `awaits/`, which holds `PARENT/CHILD.json` and `PARENT/CHILD.lock`.
fn waits(checkup: &mut Checkup, awaits: &Path) {
    let stray = |checkup: &mut Checkup, path: &Path, form: &str| {
        let mend = format!("mv -n {} {}", word(path), word(&checkup.root.join(Folder::Quarantine.name())));
        checkup.report("stray", checkup.shown(path), format!("it is not a {form}, so no program reads it"), mend);
    };
    for path in entries(awaits).map(|e| e.path) {
        let parent = name(&path);
        if parent.starts_with('.') {
            continue;
        }
        let Ok(meta) = disk::metadata(&path) else { continue };
        if meta.is_file() || (meta.is_dir() && parent.parse::<WorkflowId>().is_err()) {
            stray(checkup, &path, "folder of a workflow");
            continue;
        }
        if !folder(checkup, &path, false) {
            continue;
        }
        for path in entries(&path).map(|e| e.path) {
            let name = name(&path);
            let of_child = |end| name.strip_suffix(end).is_some_and(|child| child.parse::<WorkflowId>().is_ok());
            let belongs = name.starts_with('.') || of_child(".json") || of_child(".lock");
            if file(checkup, &path) && !belongs && age(&path) >= time_to_settle(&name) {
                stray(checkup, &path, "WORKFLOW_ID.json");
            }
        }
    }
}

/// How long a file with a wrong name is left alone: another program may be about to rename a temporary file.
fn time_to_settle(name: &str) -> std::time::Duration {
    if name.ends_with(".json") { quarantine::GRACE } else { LEFT_OVER }
}
