//! Where the file of a call lies. The decision about a call and the tool that makes it use the same [`Place`], so a path cannot mean one
//! file in the decision and another one later.
//!
//! The system resolves the path once: it follows a link before `..` goes up. The resolved path holds no link. Its folder is opened name
//! by name, and each step fails at a link. The tool reads and writes from the opened folder, and fails at a link, too. So it reaches the
//! file at the resolved path, even if another process puts links there, or fails.

#![allow(clippy::disallowed_methods, reason = "the files of the agent's work lie outside of any mailbox")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::history::Call;
use crate::tool_names::{EDIT, GLOB, GREP, READ, WRITE};
use askbox_mailbox::platform::files::FOLDER;

/// A file, or a folder to search.
pub(crate) struct Place {
    /// The absolute path without links and `..`.
    pub path: PathBuf,
    /// The path as the call spells it, with `..` removed as text. A rule that refuses names this path, too.
    pub spelled: PathBuf,
    /// The innermost folder above the file that exists.
    folder: OwnedFd,
    /// The names below it: folders that do not exist, and the file. Empty for the root of the system.
    names: Vec<OsString>,
}

impl Place {
    /// The place that a call is about; `None` if the tool is not about files.
    ///
    /// # Errors
    /// Words for the model if the call names no path, or one that leads nowhere.
    pub fn of_call(call: &Call, cwd: &Path) -> std::result::Result<Option<Self>, String> {
        let needed = |key: &str| call.text(key).ok_or_else(|| format!("`{key}` is missing"));
        let path = match call.name.as_str() {
            READ | WRITE | EDIT => cwd.join(needed("file_path")?),
            GLOB => cwd.join(call.text("path").unwrap_or(".")).join(literal_folder(needed("pattern")?).0),
            GREP => cwd.join(call.text("path").unwrap_or(".")),
            _ => return Ok(None),
        };
        Self::find(&path).map(Some).map_err(|e| format!("{} cannot be found: {e}", path.display()))
    }

    /// Writes the path into a call that a person is to decide about, unless it says the same already. A person cannot see that
    /// `data/../x` goes through a link. If the link changes before the answer, the answer is about another call.
    pub fn write_into(&self, call: &mut Call) {
        let Some(path) = self.path.to_str().filter(|_| self.path != self.spelled) else { return };
        let key = if [GLOB, GREP].contains(&call.name.as_str()) { "path" } else { "file_path" };
        if call.name == GLOB {
            let pattern = literal_folder(call.text("pattern").unwrap_or_default()).1.to_owned();
            call.input.insert("pattern".into(), pattern.into());
        }
        call.input.insert(key.into(), path.into());
    }

    /// Finds an absolute path.
    pub fn find(path: &Path) -> Result<Self> {
        let spelled = without_dot_dot(path);
        let (mut real, mut names) = resolve(path)?;
        let path = names.iter().fold(real.clone(), |path, name| path.join(name));
        // The file exists: it is one more name in its folder.
        if let (true, Some(name)) = (names.is_empty(), real.file_name().map(OsString::from)) {
            real.pop();
            names.push(name);
        }
        Ok(Self { folder: open_folder(&real)?, names, path, spelled })
    }

    /// What lies there. Links are not followed.
    fn look(&self) -> Result<Option<Stat>> {
        let [name] = self.names.as_slice() else { return Ok(None) };
        match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            other => Ok(Some(other?)),
        }
    }

    /// Opens the file for reading.
    pub fn open(&self) -> Result<File> {
        let (Some(known), [name]) = (self.look()?, self.names.as_slice()) else { return Err(Errno::NOENT.into()) };
        // Opening a device may have effects, and opening a pipe would block.
        is_file(known)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, name, flags, Mode::empty())?;
        is_file(rustix::fs::fstat(&file)?)?;
        Ok(file.into())
    }

    /// Writes the file in one step, with the folders above it: a process that dies leaves the old content or the new one. Returns true
    /// if the file was there before.
    pub fn write(&self, content: &str) -> Result<bool> {
        let known = self.look()?.map(is_file).transpose()?;
        let Some((name, folders)) = self.names.split_last() else { return Err(Errno::ISDIR.into()) };
        let mut folder = self.folder.try_clone()?;
        for name in folders {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
            folder = open_below(&folder, name)?;
        }
        let half = format!(".{}.half", uuid::Uuid::new_v4());
        let mode = Mode::from_raw_mode(if known.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&folder, &half, flags, mode)?);
        let written = file.write_all(content.as_bytes()).and_then(|()| {
            if let Some(known) = known {
                rustix::fs::fchmod(&file, Mode::from_raw_mode(known.st_mode))?;
            }
            Ok(rustix::fs::renameat(&folder, &half, &folder, name)?)
        });
        if let Err(e) = written {
            let _ = rustix::fs::unlinkat(&folder, &half, AtFlags::empty());
            return Err(e);
        }
        Ok(known.is_some())
    }
}

/// Returns the status of a file; fails if it is something else.
fn is_file(known: Stat) -> Result<Stat> {
    FileType::from_raw_mode(known.st_mode).is_file().then_some(known).ok_or_else(|| Error::other("it is not a file"))
}

/// The part of an absolute path that exists, as the system resolves it, and the names below it that do not exist. A link that leads
/// nowhere is an error: a tool that wrote through it would create a file wherever the link says.
fn resolve(path: &Path) -> Result<(PathBuf, Vec<OsString>)> {
    let is_missing = |e: &Error| e.kind() == ErrorKind::NotFound;
    let mut missing = Vec::new();
    for exists in path.ancestors() {
        // Without a slash at the end, which would make the system follow a link.
        let itself = || exists.components().collect::<PathBuf>().symlink_metadata();
        match (exists.canonicalize(), exists.components().next_back()) {
            (Ok(real), _) => {
                missing.reverse();
                return Ok((real, missing));
            }
            (Err(e), Some(Component::Normal(name))) if is_missing(&e) && itself().is_err_and(|e| is_missing(&e)) => {
                missing.push(name.to_owned());
            }
            (Err(e), _) => return Err(e),
        }
    }
    Err(Errno::NOENT.into())
}

/// An absolute path without links and `..`; unchanged if it leads nowhere.
pub(crate) fn real(path: &Path) -> PathBuf {
    resolve(path).map_or_else(|_| path.to_owned(), |(real, missing)| missing.iter().fold(real, |path, name| path.join(name)))
}

/// Opens a folder by its absolute path. Fails at a link.
fn open_folder(path: &Path) -> Result<OwnedFd> {
    let root = rustix::fs::open("/", FOLDER | OFlags::CLOEXEC, Mode::empty())?;
    let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
    names.map(|part| part.as_os_str()).try_fold(root, |folder, name| open_below(&folder, name))
}

fn open_below(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    Ok(rustix::fs::openat(folder, name, FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

fn without_dot_dot(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// Splits a pattern for paths into the folder in front, which has no wildcards, and the rest.
pub(crate) fn literal_folder(pattern: &str) -> (&str, &str) {
    let literal = &pattern[..pattern.find(['*', '?', '[']).unwrap_or(pattern.len())];
    pattern.split_at(literal.rfind('/').map_or(0, |slash| slash + 1))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A project with the file `a/f`, and a folder beside it.
    fn project() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["project/a", "outside"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join("project/a/f"), "old").unwrap();
        std::fs::write(root.join("outside/f"), "secret").unwrap();
        (folder, root.join("project"), root.join("outside"))
    }

    #[test]
    fn a_link_that_comes_after_the_decision_is_not_followed() {
        let (_folder, project, outside) = project();
        let [old, new] = ["a/f", "a/b/new"].map(|path| Place::find(&project.join(path)).unwrap());
        std::fs::rename(project.join("a"), project.join("moved")).unwrap();
        symlink(&outside, project.join("a")).unwrap();
        assert!(old.write("mine").unwrap() && !new.write("mine").unwrap());
        assert_eq!(std::fs::read_to_string(project.join("moved/f")).unwrap(), "mine");
        assert!(project.join("moved/b/new").exists() && !outside.join("b").exists());
        std::fs::remove_file(project.join("moved/f")).unwrap();
        symlink(outside.join("f"), project.join("moved/f")).unwrap();
        assert!(old.open().is_err() && old.write("mine").is_err());
        std::fs::remove_dir_all(project.join("moved/b")).unwrap();
        symlink(&outside, project.join("moved/b")).unwrap();
        assert!(new.open().is_err() && new.write("mine").is_err());
        assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), "secret");
        assert_eq!(outside.read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_keeps_becoming_a_link_leads_nowhere_else() {
        let (_folder, project, outside) = project();
        let (is_over, [a, link]) = (AtomicBool::new(false), ["a", "link"].map(|name| project.join(name)));
        symlink(&outside, &link).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                while !is_over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &a, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            for _ in 0..500 {
                let found = Place::find(&project.join("a/f")).ok().filter(|place| place.path.starts_with(&project));
                let read = found.as_ref().and_then(|place| std::io::read_to_string(place.open().ok()?).ok());
                assert_ne!(read.as_deref(), Some("secret"));
                let _ = found.map(|place| place.write("mine"));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), "secret");
        assert_eq!(outside.read_dir().unwrap().count(), 1);
    }
}
