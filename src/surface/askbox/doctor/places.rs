//! Folders and files as such: who owns them, who may write them, what does not belong there.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::disk::{self, TEMPORARY_PREFIX};
use crate::error::Error;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::checkpoint;
use crate::mailbox::timers::Timer;
use crate::mailbox::{Folder, intake};
use crate::surface::askbox::doctor::{LEFT_OVER, Ward, word};
use crate::time;

pub(crate) fn look(ward: &mut Ward) {
    let root = ward.root.clone();
    if root.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return;
    }
    folder(ward, &root, true);
    leftovers(ward, &root, 0);
    for kind in Folder::ALL {
        let path = root.join(kind.name());
        if path.symlink_metadata().is_ok() && folder(ward, &path, false) {
            let depth = match kind {
                Folder::Runs => 3,
                Folder::Awaits => 1,
                _ => 0,
            };
            leftovers(ward, &path, depth);
            if kind == Folder::Awaits { waits(ward, &path) } else { files(ward, kind, &path) }
        }
    }
    let audit: Vec<PathBuf> = entries(&root).into_iter().filter(|p| name(p).starts_with("audit.jsonl")).collect();
    for path in audit {
        file(ward, &path);
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Time since the last change.
fn age(path: &Path) -> std::time::Duration {
    path.symlink_metadata().and_then(|m| m.modified()).ok().and_then(|at| at.elapsed().ok()).unwrap_or_default()
}

/// A folder of the mailbox; tells whether it may be looked into.
fn folder(ward: &mut Ward, path: &Path, is_root: bool) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    let shown = if is_root { path.display().to_string() } else { ward.shown(path) };
    let mode = meta.permissions().mode() & 0o777;
    // The programs' own judgement, and a command for each of its reasons.
    match disk::check_folder(path) {
        Err(Error::NotFound { .. }) => return false,
        Err(error) if meta.is_symlink() => {
            let target = fs::canonicalize(path).unwrap_or_default();
            let mend = if is_root { format!("export ASKBOX_DIR={}", word(&target)) } else { format!("rm {}", word(path)) };
            ward.find("link", shown, format!("{error}, to {}; links are not followed", target.display()), mend);
            return false;
        }
        Err(error) if !meta.is_dir() => {
            ward.find("no_folder", shown, error.to_string(), format!("mv -n {0} {0}.aside", word(path)));
            return false;
        }
        Err(error) if meta.uid() != rustix::process::geteuid().as_raw() => {
            ward.find("owner", shown, error.to_string(), chown(path));
        }
        Err(error) => {
            let private = if is_root { "700" } else { "go-w" };
            ward.find("mode", shown, error.to_string(), format!("chmod {private} {}", word(path)));
        }
        Ok(()) if mode & 0o700 != 0o700 => {
            ward.find(
                "mode",
                shown,
                format!("you may not read, write and enter it (mode {mode:04o})"),
                format!("chmod u+rwx {}", word(path)),
            );
        }
        Ok(()) if is_root && mode & 0o077 != 0 => {
            ward.find("mode", shown, format!("others may look into it (mode {mode:04o})"), format!("chmod 700 {}", word(path)));
        }
        Ok(()) => {}
    }
    true
}

fn chown(path: &Path) -> String {
    format!("sudo chown {} {}", rustix::process::geteuid().as_raw(), word(path))
}

/// A file as such; tells whether its content can be judged.
fn file(ward: &mut Ward, path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    let shown = ward.shown(path);
    if meta.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        ward.find(
            "link",
            shown,
            format!("is a symbolic link to {}; links are not followed", target.display()),
            format!("rm {}", word(path)),
        );
        return false;
    }
    if !meta.is_file() {
        let mend = format!("mv -n {} {}", word(path), word(&ward.root.join(Folder::Quarantine.name())));
        ward.find("no_file", shown, "is no regular file", mend);
        return false;
    }
    judge(ward, path, &meta)
}

fn judge(ward: &mut Ward, path: &Path, meta: &Metadata) -> bool {
    let (shown, mode) = (ward.shown(path), meta.permissions().mode() & 0o777);
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me && meta.uid() != 0 {
        ward.find("owner", shown, format!("belongs to user {}, and is not read", meta.uid()), chown(path));
        return false;
    }
    if mode & 0o022 != 0 {
        ward.find("mode", shown, format!("may be written by others (mode {mode:04o})"), format!("chmod go-w {}", word(path)));
    } else if mode & 0o400 == 0 {
        ward.find("mode", shown, format!("you may not read it (mode {mode:04o})"), format!("chmod u+rw {}", word(path)));
        return me == 0;
    }
    true
}

/// The files of a folder: names that do not belong there, owners, modes, links.
fn files(ward: &mut Ward, kind: Folder, folder: &Path) {
    let of_workflows = matches!(kind, Folder::Pending | Folder::Answered | Folder::Checkpoints | Folder::Workflows);
    let of_rounds = matches!(kind, Folder::Running | Folder::Parked | Folder::Closed);
    for path in entries(folder) {
        let name = name(&path);
        if name.starts_with('.') {
            continue;
        }
        let belongs = match kind {
            _ if of_workflows => WorkflowId::from_file_name(&name).is_some(),
            _ if of_rounds => RoundId::from_file_name(&name).is_some(),
            Folder::Timers => Timer::from_file_name(&name).is_some(),
            _ => true,
        };
        if matches!(kind, Folder::Runs) || !file(ward, &path) || belongs || age(&path) < time_to_settle(&name) {
            continue;
        }
        let mend = match kind {
            Folder::Timers => format!("rm {}", word(&path)),
            _ => format!("mv -n {} {}", word(&path), word(&ward.root.join(Folder::Quarantine.name()))),
        };
        let form = if of_rounds { "WORKFLOW_ID.QUESTION_ID.json" } else { "WORKFLOW_ID.json" };
        ward.find("stray", ward.shown(&path), format!("its name is no {form}: no program reads it"), mend);
    }
}

/// `awaits/PARENT/CHILD.json`, and `CHILD.lock` beside it.
fn waits(ward: &mut Ward, awaits: &Path) {
    let stray = |ward: &mut Ward, path: &Path, form: &str| {
        let mend = format!("mv -n {} {}", word(path), word(&ward.root.join(Folder::Quarantine.name())));
        ward.find("stray", ward.shown(path), format!("it is no {form}: no program reads it"), mend);
    };
    for path in entries(awaits) {
        let parent = name(&path);
        if parent.starts_with('.') {
            continue;
        }
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_file() || (meta.is_dir() && parent.parse::<WorkflowId>().is_err()) {
            stray(ward, &path, "folder of a workflow");
            continue;
        }
        if !folder(ward, &path, false) {
            continue;
        }
        for path in entries(&path) {
            let name = name(&path);
            let of_child = |end| name.strip_suffix(end).is_some_and(|child| child.parse::<WorkflowId>().is_ok());
            let belongs = name.starts_with('.') || of_child(".json") || of_child(".lock");
            if file(ward, &path) && !belongs && age(&path) >= time_to_settle(&name) {
                stray(ward, &path, "WORKFLOW_ID.json");
            }
        }
    }
}

/// Somebody's `jq … > x.json.tmp && mv` may be on its way; a whole `.json` is there to stay.
fn time_to_settle(name: &str) -> std::time::Duration {
    if name.ends_with(".json") { intake::SETTLE } else { LEFT_OVER }
}

/// Temporary files of a program that died.
fn leftovers(ward: &mut Ward, folder: &Path, depth: usize) {
    for path in entries(folder) {
        let name = name(&path);
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() && depth > 0 {
            leftovers(ward, &path, depth - 1);
        }
        if !name.starts_with(TEMPORARY_PREFIX) || !meta.is_file() || age(&path) < LEFT_OVER {
            continue;
        }
        let since = time::human(age(&path));
        match unretired(&path, &name) {
            _ if name.starts_with(crate::gc::GONE) => {
                let said = format!("{since} ago a gc was killed while it pruned this");
                ward.find("half_done", ward.shown(&path), said, ward.command("askbox gc"));
            }
            Some(target) => {
                let said = format!("a question that was moved aside {since} ago and not put back");
                ward.find("half_done", ward.shown(&path), said, format!("mv -n {} {}", word(&path), word(&target)));
            }
            None => {
                ward.find("leftover", ward.shown(&path), format!("left {since} ago by a program that died"), format!("rm {}", word(&path)))
            }
        }
    }
}

/// A pending file that was moved aside to be retired, and turned out to be another round's: where it belongs.
fn unretired(path: &Path, name: &str) -> Option<PathBuf> {
    let round = RoundId::from_file_name(&format!("{}.json", name.strip_prefix(TEMPORARY_PREFIX)?.strip_prefix("retired.")?))?;
    let question = intake::read_round_file(path).ok()?.typed;
    let other = question.question_id != Some(round.question) && question.workflow_id == round.workflow;
    other.then(|| path.with_file_name(round.workflow.file_name()))
}

/// Whether a checkpoint can be resumed from.
pub(crate) fn checkpoint_problem(path: &Path, workflow: &WorkflowId) -> Option<Error> {
    checkpoint::read_for(path, workflow).and_then(|d| checkpoint::check(&d.typed).map_err(|e| e.in_file(path))).err()
}
