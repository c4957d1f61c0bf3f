//! Owners, modes, links and names of the mailbox's folders and files, and temporary files that a program left when it was killed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::commands::doctor::checkup::{Checkup, LEFT_OVER, age, entries, free_name, name, set_aside, word};
use crate::commands::doctor::workflows::documents;
use askbox_cli::program;
use askbox_mailbox::disk::{self, Entry, TEMPORARY_PREFIX};
use askbox_mailbox::{Error, Folder, Mailbox, RoundId, Timer, WorkflowId, quarantine, read_question, time};

/// The named pipe of a live attempt, which wakes its supervisor.
const CONTROL: &str = "control";

/// The command that leaves a path alone that is not a mailbox.
const ANOTHER_MAILBOX: &str = "export ASKBOX_DIR=~/.claude/questions";

/// Reports that a mailbox is missing if somebody named it: its path may be misspelt, or not mounted. The default mailbox is created by the
/// first post.
pub(in crate::commands::doctor) fn no_mailbox(checkup: &mut Checkup) {
    let is_flag = !checkup.flag.is_empty();
    if !checkup.is_missing || checkup.only_answers || (!is_flag && program::env("ASKBOX_DIR").is_none()) {
        return;
    }
    let by = if is_flag { "--mailbox" } else { "$ASKBOX_DIR" };
    // A folder counts as a mailbox once it contains one of the mailbox's folders, so the command creates one. `-m` sets the mode of both
    // folders that are named here.
    let make = format!("mkdir -p -m 700 {} {}", word(&checkup.root), word(&checkup.root.join(Folder::Pending.name())));
    let or = "or nothing was asked yet. If nothing was, this makes the mailbox";
    let (said, mend) = match disk::exists(&checkup.root) {
        true if is_of_others(&checkup.root) => {
            (format!("{by} names it, and that folder holds other files and no mailbox: it is misspelt"), ANOTHER_MAILBOX.to_owned())
        }
        true => {
            let what = "that folder holds no mailbox, so a watcher waits for one: it is misspelt, its filesystem is not mounted there";
            (format!("{by} names it, and {what}, {or}"), make)
        }
        false => (format!("{by} names it, and there is no such folder: it is misspelt or not mounted, {or}"), make),
    };
    checkup.report("no_mailbox", checkup.root.display().to_string(), said, mend);
}

/// True for a folder with files and without any folder of a mailbox. Somebody named it by mistake, so nothing in it is to be changed.
fn is_of_others(root: &Path) -> bool {
    entries(root).next().is_some() && !Folder::all().any(|kind| disk::exists(root.join(kind.name())))
}

/// Looks for temporary files below the folders in `runs/`.
fn all_leftovers(checkup: &mut Checkup, recent: Option<BTreeSet<WorkflowId>>) {
    let Some(mailbox) = checkup.mailbox.clone() else { return };
    if let Some(recent) = recent {
        return recent.iter().for_each(|workflow| leftovers_of(checkup, &mailbox, workflow));
    }
    for entry in entries(&mailbox.folder(Folder::Runs)).filter(Entry::is_folder) {
        match name(&entry.path).parse() {
            Ok(workflow) => leftovers_of(checkup, &mailbox, &workflow),
            Err(_) => look_for_leftovers(checkup, &entry.path, 2),
        }
    }
}

/// Looks for temporary files in `runs/W`, in the folders of the rounds that are checked.
fn leftovers_of(checkup: &mut Checkup, mailbox: &Mailbox, id: &WorkflowId) {
    let checked = documents::recent(checkup, mailbox, id);
    if checked.are_all {
        return look_for_leftovers(checkup, &mailbox.runs_of_workflow(id), 2);
    }
    checked.rounds.iter().for_each(|round| look_for_leftovers(checkup, &mailbox.runs_of(round), 1));
}

/// Checks the mailbox folder by folder.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    if let Some((mailbox, id)) = checkup.asked() {
        documents::of_workflow(checkup, &mailbox, &id).iter().for_each(|(_, _, path)| _ = file(checkup, path));
        return leftovers_of(checkup, &mailbox, &id);
    }
    let root = checkup.root.clone();
    if is_of_others(&root) {
        // Why no program opens it is told here. If it could be opened, `no_mailbox` tells that it is none.
        if disk::check_folder(&root).is_err() {
            folder(checkup, &root, true);
        }
        return;
    }
    folder(checkup, &root, true);
    look_for_leftovers(checkup, &root, 0);
    look_for_leftovers(checkup, &root.join("archive"), 1);
    checkup.sorted(|checkup| top(checkup, &root));
    let recent = checkup.recent_workflows();
    for kind in Folder::all() {
        let path = root.join(kind.name());
        if !disk::exists(&path) || !folder(checkup, &path, false) {
            continue;
        }
        checkup.sorted(|checkup| match (kind, &recent) {
            (Folder::Closed, Some(_)) => checkup.closed.newest.clone().iter().for_each(|of| _ = file(checkup, &path.join(of.file_name()))),
            (Folder::Checkpoints | Folder::Workflows, Some(ids)) => ids.iter().for_each(|id| _ = file(checkup, &path.join(id.file_name()))),
            (Folder::Runs, Some(_)) => {}
            (Folder::Runs, None) => {
                look_for_leftovers(checkup, &path, 0);
                entries(&path).filter(Entry::is_link).for_each(|entry| _ = file(checkup, &entry.path));
            }
            (Folder::Awaits, _) => {
                look_for_leftovers(checkup, &path, 1);
                waits(checkup, &path);
            }
            _ => {
                look_for_leftovers(checkup, &path, 0);
                files(checkup, kind, &path);
            }
        });
    }
    checkup.sorted(|checkup| all_leftovers(checkup, recent));
}

/// Checks what lies beside the folders of the mailbox: the audit, and what stands in the place of a file that askbox writes for itself. These
/// are the files of the mailbox's own folder, the costs of a day, the dialogs at terminals, and what the sessions have seen.
fn top(checkup: &mut Checkup, root: &Path) {
    for entry in entries(root) {
        let name = name(&entry.path);
        if Folder::all().any(|folder| folder.name() == name) {
            continue;
        }
        if entry.is_link() || name.starts_with("audit.jsonl") {
            file(checkup, &entry.path);
        } else if is_special(&entry) || (entry.is_folder() && name.ends_with(".json")) {
            no_file(checkup, &entry.path);
        }
    }
    let is_inner = |path: &Path| INNER_FOLDERS.iter().any(|inner| path == root.join(inner));
    for folder in ["costs", "dialogs", "looked"].into_iter().chain(INNER_FOLDERS) {
        let is_none = |entry: &Entry| is_special(entry) || (entry.is_folder() && !is_inner(&entry.path));
        entries(&root.join(folder)).filter(is_none).for_each(|entry| no_file(checkup, &entry.path));
    }
}

/// The folders that askbox makes among these files.
const INNER_FOLDERS: [&str; 3] = ["costs/workflows", "costs/times", "looked/codex"];

/// True for a named pipe, a socket or a device.
fn is_special(entry: &Entry) -> bool {
    !entry.is_file() && !entry.is_folder() && !entry.is_link()
}

fn no_file(checkup: &mut Checkup, path: &Path) {
    let mend = set_aside(checkup, path);
    checkup.report("no_file", checkup.shown(path), "is not a regular file, so nothing can be written to it or read from it", mend);
}

/// The command that moves a file of the mailbox to the quarantine, under a name that is free there.
fn to_quarantine(checkup: &Checkup, path: &Path) -> String {
    format!("mv -n {} {}", word(path), word(&free_name(&checkup.root.join(Folder::Quarantine.name()).join(name(path)))))
}

/// Checks a folder of the mailbox. Returns true if its files can be checked.
fn folder(checkup: &mut Checkup, path: &Path, is_root: bool) -> bool {
    let Ok(meta) = disk::metadata(path) else { return false };
    let mode = meta.permissions().mode() & 0o777;
    let chmod = |change: &str| format!("chmod {change} {}", word(path));
    // The check is the one that all programs use. Each of its errors gets a command.
    let (kind, said, mend) = match disk::check_folder(path) {
        Err(Error::NotFound { .. }) => return false,
        Err(error) if meta.is_symlink() => {
            let target = fs::canonicalize(path).unwrap_or_default();
            let mend = if is_root { format!("export ASKBOX_DIR={}", word(&target)) } else { format!("rm {}", word(path)) };
            ("link", format!("{error}, to {}; links are not followed", target.display()), mend)
        }
        Err(error) if !meta.is_dir() => {
            // A file that somebody named by mistake is somebody's file.
            let is_named = is_root && (!checkup.flag.is_empty() || program::env("ASKBOX_DIR").is_some());
            let mend = if is_named { ANOTHER_MAILBOX.to_owned() } else { format!("mv -n {0} {0}.aside", word(path)) };
            ("no_folder", error.to_string(), mend)
        }
        Err(error) if meta.uid() != my_id() => ("owner", error.to_string(), of_a_mailbox(path, chown(path))),
        Err(_) => {
            let (who, so) = match mode & 0o002 {
                0 => ("other users of its group", ""),
                _ => ("every user of this machine", ", so no program of askbox opens it"),
            };
            let mend = of_a_mailbox(path, chmod(if is_root { "700" } else { "go-w" }));
            ("mode", format!("{who} may write to it (mode {mode:04o}){so}"), mend)
        }
        Ok(()) if mode & 0o700 != 0o700 => {
            ("mode", format!("you lack permission to read, write or enter it (mode {mode:04o})"), chmod("u+rwx"))
        }
        Ok(()) if is_root && mode & 0o077 != 0 => {
            ("mode", format!("other users may read it (mode {mode:04o})"), of_a_mailbox(path, chmod("700")))
        }
        Ok(()) => return true,
    };
    let shown = if is_root { path.display().to_string() } else { checkup.shown(path) };
    checkup.report(kind, shown, said, mend);
    meta.is_dir()
}

/// The command for a folder of a mailbox. For any other folder, such as `/tmp`, returns a command that changes nothing about it.
fn of_a_mailbox(path: &Path, command: String) -> String {
    if disk::is_of_a_mailbox(path) { command } else { ANOTHER_MAILBOX.to_owned() }
}

fn my_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn chown(path: &Path) -> String {
    // Root needs no sudo, and a container may have none.
    let sudo = if my_id() == 0 { "" } else { "sudo " };
    format!("{sudo}chown {} {}", my_id(), word(path))
}

/// Checks a file's type, owner and mode. Returns true if its content can be checked.
fn file(checkup: &mut Checkup, path: &Path) -> bool {
    let Ok(meta) = disk::metadata(path) else { return false };
    let mode = meta.permissions().mode() & 0o777;
    let (kind, said, mend) = if meta.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        ("link", format!("is a symbolic link to {}; links are not followed", target.display()), format!("rm {}", word(path)))
    } else if !meta.is_file() {
        ("no_file", "is not a regular file".to_owned(), to_quarantine(checkup, path))
    } else if ![my_id(), 0].contains(&meta.uid()) {
        ("owner", format!("belongs to user {}, and is not read", meta.uid()), chown(path))
    } else if mode & 0o022 != 0 {
        ("mode", format!("other users may write it (mode {mode:04o})"), format!("chmod go-w {}", word(path)))
    } else if mode & 0o400 == 0 {
        ("mode", format!("you lack permission to read it (mode {mode:04o})"), format!("chmod u+rw {}", word(path)))
    } else {
        return true;
    };
    checkup.report(kind, checkup.shown(path), said, mend);
    kind == "mode" && (mode & 0o022 != 0 || my_id() == 0)
}

/// Checks the files of a folder.
fn files(checkup: &mut Checkup, kind: Folder, folder: &Path) {
    let of_workflows = matches!(kind, Folder::Pending | Folder::Answered | Folder::Checkpoints | Folder::Workflows);
    let of_rounds = matches!(kind, Folder::Running | Folder::Parked | Folder::Closed);
    for path in entries(folder).map(|e| e.path) {
        let name = name(&path);
        checkup.progress.count(kind.name());
        // `quarantined` reports what is not a file there: it cannot be moved to where it lies.
        let is_reported = kind == Folder::Quarantine && disk::metadata(&path).is_ok_and(|meta| !meta.is_file());
        if name.starts_with('.') || is_reported {
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
        let form = if of_rounds { "WORKFLOW_ID.QUESTION_ID.json" } else { "WORKFLOW_ID.json" };
        let mend = if kind == Folder::Timers { format!("rm {}", word(&path)) } else { to_quarantine(checkup, &path) };
        checkup.report("stray", checkup.shown(&path), format!("its name is not {form}, so no program reads it"), mend);
    }
}

/// Checks `awaits/`, which holds `PARENT/CHILD.json` and `PARENT/CHILD.lock`.
fn waits(checkup: &mut Checkup, awaits: &Path) {
    let stray = |checkup: &mut Checkup, path: &Path, form: &str| {
        let mend = to_quarantine(checkup, path);
        checkup.report("stray", checkup.shown(path), format!("it is not a {form}, so no program reads it"), mend);
    };
    for path in entries(awaits).map(|e| e.path).filter(|path| !name(path).starts_with('.')) {
        let Ok(meta) = disk::metadata(&path) else { continue };
        if meta.is_file() || (meta.is_dir() && name(&path).parse::<WorkflowId>().is_err()) {
            stray(checkup, &path, "folder of a workflow");
        } else if folder(checkup, &path, false) {
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
}

/// How long a file with a wrong name is left alone: another program may be about to rename a temporary file.
fn time_to_settle(name: &str) -> std::time::Duration {
    if name.ends_with(".json") { quarantine::GRACE } else { LEFT_OVER }
}

/// Looks for such files in a folder, and in its subfolders down to `depth`.
fn look_for_leftovers(checkup: &mut Checkup, folder: &Path, depth: usize) {
    for entry in entries(folder) {
        let (path, name) = (&entry.path, name(&entry.path));
        if depth > 0 {
            checkup.progress.count(Folder::Runs.name());
        }
        if entry.is_folder() && depth > 0 {
            look_for_leftovers(checkup, path, depth - 1);
        }
        if path.starts_with(checkup.root.join(Folder::Runs.name())) && is_special(&entry) && name != CONTROL {
            no_file(checkup, path);
        }
        if !name.starts_with(TEMPORARY_PREFIX) || !entry.is_file() || age(path) < LEFT_OVER {
            continue;
        }
        let since = time::human(age(path));
        let (kind, said, mend) = match unretired(path, &name) {
            _ if name.starts_with(askbox_run::gc::GONE) => {
                ("half_done", format!("`askbox gc` was killed {since} ago while it removed this"), checkup.command("askbox gc"))
            }
            Some(target) => {
                let mend = format!("mv -n {} {}", word(path), word(&target));
                ("half_done", format!("a question was moved aside {since} ago and not put back"), mend)
            }
            None => ("leftover", format!("left {since} ago by a program that was killed"), format!("rm {}", word(path))),
        };
        checkup.report(kind, checkup.shown(path), said, mend);
    }
}

/// The path where a pending file belongs, if it was moved aside as answered although it holds another round.
fn unretired(path: &Path, name: &str) -> Option<PathBuf> {
    let round = RoundId::from_file_name(&format!("{}.json", name.strip_prefix(TEMPORARY_PREFIX)?.strip_prefix("retired.")?))?;
    let question = read_question::document(path).ok()?.typed;
    let other = question.question_id != Some(round.question) && question.workflow_id == round.workflow;
    other.then(|| path.with_file_name(round.workflow.file_name()))
}
