//! Temporary files. They are written beside their target. The sweep removes those that a killed process left behind.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::below::Place;
use crate::disk::below::{entries, metadata};
use crate::error::{IoContext, Result};

/// The beginning of every temporary name; readers skip such names.
pub const TEMPORARY_PREFIX: &str = ".tmp";

/// How many random letters and digits follow the prefix.
const RANDOM_CHARACTERS: usize = 12;

/// The sweep leaves a file alone if its inode changed within this time. The reason: an exchange of names leaves the old file under
/// the temporary name for a moment.
const UNCHANGED_FOR: Duration = Duration::from_secs(10);

/// True if the functions that write files could have given this name to an unfinished file: [`TEMPORARY_PREFIX`] and twelve letters
/// or digits.
pub fn is_temporary_name(name: &str) -> bool {
    let random = name.strip_prefix(TEMPORARY_PREFIX);
    random.is_some_and(|random| random.len() == RANDOM_CHARACTERS && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A file under a temporary name.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) name: TemporaryName,
    pub(super) file: File,
}

/// A temporary name. Dropping it removes the file that has the name.
#[derive(Debug)]
pub(super) struct TemporaryName {
    place: Place,
    is_free: bool,
}

impl Temporary {
    /// Writes a temporary file beside a target, without a sync.
    pub(super) fn write(target: &Place, bytes: &[u8], mode: u32) -> Result<Self> {
        let folder = target.folder.path();
        let mut temporary = Self::create(target, mode).io("write in", folder)?;
        temporary.file.write_all(bytes).io("write in", folder)?;
        Ok(temporary)
    }

    fn create(target: &Place, mode: u32) -> io::Result<Self> {
        loop {
            let place = random_name(target);
            match place.create(mode) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                other => return Ok(Self { file: other?, name: TemporaryName { place, is_free: false } }),
            }
        }
    }

    /// Makes the content durable.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_all().io("sync a file in", self.name.place.folder.path())
    }
}

/// Returns a random temporary name in the folder of a place.
fn random_name(target: &Place) -> Place {
    let random = uuid::Uuid::new_v4().simple().to_string();
    target.beside(format!("{TEMPORARY_PREFIX}{}", &random[..RANDOM_CHARACTERS]))
}

impl TemporaryName {
    /// Gives the file of a place a temporary name, without a sync.
    pub(super) fn take(from: &Place) -> io::Result<Self> {
        loop {
            let place = random_name(from);
            match from.rename_noreplace(&place) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| Self { place, is_free: false }),
            }
        }
    }

    /// Gives the file its final name, without a sync. Fails with [`io::ErrorKind::AlreadyExists`] if `to` exists.
    pub(super) fn place(mut self, to: &Place) -> io::Result<()> {
        self.place.rename_noreplace(to)?;
        self.is_free = true;
        Ok(())
    }

    /// Gives the file its final name, without a sync. Replaces a file that has that name.
    pub(super) fn replace(mut self, to: &Place) -> io::Result<()> {
        self.place.rename_over(to)?;
        self.is_free = true;
        Ok(())
    }

    /// True if the file that has the name now has exactly this content.
    pub(super) fn holds(&self, content: &[u8]) -> io::Result<bool> {
        self.place.holds(content)
    }

    /// Exchanges the names of two files, without a sync.
    pub(super) fn exchange(&self, with: &Place) -> rustix::io::Result<()> {
        self.place.exchange(with)
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if !self.is_free {
            let _ = self.place.remove();
        }
    }
}

/// Removes old temporary files in a folder and up to `depth` levels below it. Returns the removed paths.
///
/// A file is removed if it is a regular file of this user with a temporary name, was written longer ago than `age`, and no process
/// has it open. A file that cannot be inspected or removed stays.
pub fn sweep(folder: &Path, depth: usize, age: Duration) -> Vec<PathBuf> {
    let mut old = Vec::new();
    collect(folder, depth, age, &mut old);
    if old.is_empty() {
        return Vec::new();
    }
    let open = open_files();
    old.retain(|(path, file)| !open.contains(file) && Place::at(path).and_then(|place| place.remove()).is_ok());
    old.into_iter().map(|(path, _)| path).collect()
}

/// A file's device and inode.
type FileId = (u64, u64);

fn collect(folder: &Path, depth: usize, age: Duration, old: &mut Vec<(PathBuf, FileId)>) {
    // A folder that is a symbolic link is not opened.
    if !metadata(folder).is_ok_and(|m| m.is_dir()) {
        return;
    }
    for entry in entries(folder).into_iter().flatten().flatten() {
        if entry.is_folder() && depth > 0 {
            collect(&entry.path, depth - 1, age, old);
        } else if entry.is_file()
            && entry.name.to_str().is_some_and(is_temporary_name)
            && let Ok(meta) = metadata(&entry.path)
            && meta.is_file()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && is_old(&meta, age)
        {
            old.push((entry.path, (meta.dev(), meta.ino())));
        }
    }
}

fn is_old(meta: &Metadata, age: Duration) -> bool {
    let changed = u64::try_from(meta.ctime()).ok().map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s + 1));
    let since = |at: Option<SystemTime>| at.and_then(|at| at.elapsed().ok());
    since(meta.modified().ok()).is_some_and(|t| t > age) && since(changed).is_some_and(|t| t > UNCHANGED_FOR)
}

/// Returns every file that a process has open, as far as this user may read the process's folder in `/proc`.
fn open_files() -> HashSet<FileId> {
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
        for name in [".tmp0a1b2c3d4e5f", ".tmp000000000000", ".tmpAbCdEfGhIjKl"] {
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
