//! What killed writers leave behind: files that never got their name.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::{TEMPORARY_DIGITS, TEMPORARY_PREFIX};

/// Nobody has touched its name for so long either: an exchange leaves the old file there for a moment.
const STILL: Duration = Duration::from_secs(10);

/// Whether it is a name that [`super::create`] and its like give while they write.
#[must_use]
pub fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX).is_some_and(|rest| rest.len() == TEMPORARY_DIGITS && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Removes the temporary files in a folder, and `depth` levels below it, that were written longer ago than `age` and that no
/// process has open: only regular files of ours with a name that we give. Returns those that it removed. What cannot be read or
/// removed stays.
#[must_use]
pub fn sweep(folder: &Path, depth: usize, age: Duration) -> Vec<PathBuf> {
    let mut old = Vec::new();
    collect(folder, depth, age, &mut old);
    if old.is_empty() {
        return Vec::new();
    }
    let open = open_files();
    old.retain(|(path, file)| !open.contains(file) && fs::remove_file(path).is_ok());
    old.into_iter().map(|(path, _)| path).collect()
}

type File = (u64, u64);

fn collect(folder: &Path, depth: usize, age: Duration, old: &mut Vec<(PathBuf, File)>) {
    // Where a link was put in a folder's place, nothing below is ours.
    if !folder.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, age, old);
        } else if kind.is_file()
            && entry.file_name().to_str().is_some_and(is_temporary_name)
            && let Ok(meta) = entry.metadata()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && is_old(&meta, age)
        {
            old.push((entry.path(), (meta.dev(), meta.ino())));
        }
    }
}

fn is_old(meta: &Metadata, age: Duration) -> bool {
    let changed = u64::try_from(meta.ctime()).ok().map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s + 1));
    let since = |at: Option<SystemTime>| at.and_then(|at| at.elapsed().ok());
    since(meta.modified().ok()).is_some_and(|t| t > age) && since(changed).is_some_and(|t| t > STILL)
}

/// Every file that a process of ours has open.
fn open_files() -> HashSet<File> {
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let is_process = |path: &PathBuf| path.file_name().is_some_and(|n| n.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let open = below("/proc".into()).filter(is_process).flat_map(|process| below(process.join("fd")));
    open.filter_map(|fd| fs::metadata(fd).ok()).map(|meta| (meta.dev(), meta.ino())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_temporary_names_are_swept() {
        for name in [".tmp0a1b2c3d4e5f", ".tmp000000000000"] {
            assert!(is_temporary_name(name), "{name}");
        }
        for name in
            [".tmp", ".tmp0a1b2c3d4e5", ".tmp0a1b2c3d4e5f6", ".tmp0a1b2c3d4-5f", ".tmpretired.w.q", "tmp0a1b2c3d4e5f", "x.tmp0a1b2c3d4e5f"]
        {
            assert!(!is_temporary_name(name), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let _staged = crate::disk::stage(&path, b"{}").unwrap();
        let made = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().file_name();
        assert!(is_temporary_name(made.to_str().unwrap()), "{made:?}");
    }
}
