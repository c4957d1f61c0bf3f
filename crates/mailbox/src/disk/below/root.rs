//! An opened mailbox. Lookups below this folder follow no symbolic link.
//!
//! The functions of [`disk`](crate::disk) take plain paths. They look up a path below an opened root from the root's descriptor. The lookup
//! fails at the first symbolic link, even one that another process puts there during the lookup. So nothing outside the root is
//! read or changed. If a root is moved while a program runs, the program goes on using the moved folder. A path outside all roots
//! is looked up as usual.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::disk::trust::{check_trust, is_loose, is_private, no_mailbox, tighten, user};
use crate::error::{Error, IoContext, Result};
use crate::platform::files;

/// The roots that this process has open, one for each path.
static ROOTS: RwLock<Vec<Arc<Root>>> = RwLock::new(Vec::new());

/// An opened root. Paths below it are looked up from it until another root is opened by the same path, or the process ends.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
    /// Device and inode.
    id: (u64, u64),
    purpose: Purpose,
    /// The effective user id of this process.
    user: u32,
    /// The folders that were made private since the root was opened. [`take_tightened`](Root::take_tightened) empties the list.
    tightened: Mutex<Vec<PathBuf>>,
}

/// Why a root is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The files below it are read and changed. A folder of this user that its group may write to, as after `umask 002`, is made private if it
    /// holds no entry of another user: see the file `trust`.
    Change,
    /// Only to read. Every change below it fails as on a read-only filesystem, and a folder that its group may write to is refused.
    Look,
}

/// How many of the requested subfolders exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subfolders {
    /// None exists.
    None,
    /// At least one exists, and at least one is missing.
    Some,
    /// All exist.
    All,
}

impl Root {
    /// Opens a folder as a root. It must belong to this user and must not be a symbolic link, and no other user may be able to
    /// write to it.
    ///
    /// # Errors
    /// - [`Error::NotFound`] if the folder does not exist.
    /// - [`Error::Failed`] if it is a link or not a folder, belongs to another user, or is writable by others.
    /// - [`Error::Conflict`] if another folder took its place just now.
    /// - [`Error::Io`] if the system refuses.
    pub fn open(path: &Path, purpose: Purpose) -> Result<Arc<Self>> {
        let flags = files::LOOK | OFlags::CLOEXEC;
        let folder = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Err(no_mailbox(path)),
            other => other.map_err(io::Error::from).io("look at", path)?,
        };
        let meta = rustix::fs::fstat(&folder).map_err(io::Error::from).io("look at", path)?;
        let id = files::identity(&meta);
        let root = Arc::new(Self { path: path.to_path_buf(), folder, id, purpose, user: user(), tightened: Mutex::default() });
        root.check(CWD, path, || path.to_path_buf(), &meta)?;
        if rustix::fs::lstat(path).is_ok_and(|now| files::identity(&now) != id) {
            return Err(Error::conflict(format!("another folder took the place of {} just now", path.display()), "repeat the command"));
        }
        let mut roots = ROOTS.write().unwrap_or_else(PoisonError::into_inner);
        roots.retain(|other| other.path != path && (Arc::strong_count(other) > 1 || other.is_in_place()));
        roots.push(Arc::clone(&root));
        Ok(root)
    }

    /// The path that was given to [`open`](Self::open).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the subfolders with these names as [`open`](Self::open) checks the root. Returns how many exist.
    ///
    /// # Errors
    /// [`Error::Failed`] if a subfolder is not to be trusted. [`Error::Io`] if the system refuses.
    pub fn check_subfolders(&self, names: impl IntoIterator<Item = &'static str>) -> Result<Subfolders> {
        let (mut found, mut missing) = (false, false);
        for name in names {
            match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => missing = true,
                Err(e) => return Err(io::Error::from(e)).io("look at", self.path.join(name)),
                Ok(meta) => {
                    self.check(self.folder.as_fd(), name.as_ref(), || self.path.join(name), &meta)?;
                    found = true;
                }
            }
        }
        Ok(match (found, missing) {
            (false, _) => Subfolders::None,
            (true, true) => Subfolders::Some,
            (true, false) => Subfolders::All,
        })
    }

    /// Checks one folder. If its group may write to it, makes it private or refuses it, as the purpose says.
    fn check(&self, above: BorrowedFd<'_>, name: &Path, path: impl FnOnce() -> PathBuf, meta: &Stat) -> Result<()> {
        let me = self.user;
        if is_private(meta, me) {
            return Ok(());
        }
        let path = path();
        if self.purpose == Purpose::Look || !is_loose(meta, me) {
            return check_trust(&path, meta, me);
        }
        tighten(above, name, &path, me)?;
        self.tightened.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        Ok(())
    }

    /// Returns the folders that were made private since the last call.
    pub fn take_tightened(&self) -> Vec<PathBuf> {
        std::mem::take(&mut self.tightened.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if the root's path still leads to this folder.
    pub fn is_in_place(&self) -> bool {
        rustix::fs::lstat(&self.path).is_ok_and(|meta| files::identity(&meta) == self.id)
    }

    /// Fails if the root's path no longer leads to this folder.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the path does not exist. [`Error::Conflict`] if another folder has the path.
    pub fn check_in_place(&self) -> Result<()> {
        if self.is_in_place() {
            return Ok(());
        }
        let shown = self.path.display();
        Err(match rustix::fs::lstat(&self.path) {
            Err(_) => Error::not_found(
                format!("the mailbox {shown} is gone: it was moved, removed or unmounted while this program ran"),
                "bring it back, or name its new place with --mailbox DIR, and repeat the command",
            ),
            Ok(_) => Error::conflict(
                format!("another folder took the place of the mailbox {shown} while this program ran"),
                "repeat the command if that folder is the mailbox now",
            ),
        })
    }

    /// Opens the file or folder at `below`, a path without `..`. Fails at a symbolic link.
    fn open_below(&self, below: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        match files::open_beneath(&self.folder, below, flags, mode) {
            Err(Errno::NOSYS | Errno::PERM) => self.walk(below, flags, mode),
            other => other,
        }
    }

    /// [`Self::open_below`] for systems that cannot look up the whole path in one call: opens one folder after the other.
    fn walk(&self, below: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let mut folder: Option<OwnedFd> = None;
        let mut names = below.components().peekable();
        loop {
            let name: &Path = match names.next() {
                Some(Component::Normal(name)) => name.as_ref(),
                Some(Component::CurDir) => Path::new("."),
                _ => return Err(Errno::XDEV),
            };
            let above = folder.as_ref().map_or(self.folder.as_fd(), AsFd::as_fd);
            if names.peek().is_none() {
                return rustix::io::retry_on_intr(|| rustix::fs::openat(above, name, flags | OFlags::NOFOLLOW, mode));
            }
            let through = files::FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = Some(rustix::fs::openat(above, name, through, Mode::empty())?);
        }
    }
}

/// Returns the innermost open root around a path, and the rest of the path below it.
fn root_of(path: &Path) -> Option<(Arc<Root>, &Path)> {
    let roots = ROOTS.read().unwrap_or_else(PoisonError::into_inner);
    let around = roots.iter().filter_map(|root| Some((root, below(&root.path, path)?)));
    let (root, below) = around.max_by_key(|(root, _)| root.path.as_os_str().len())?;
    Some((Arc::clone(root), below))
}

/// Returns the rest of a path below a folder. Most paths were built from the folder's own path, so comparing bytes is enough; the
/// components are compared only if that fails.
fn below<'p>(folder: &Path, path: &'p Path) -> Option<&'p Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    match rest {
        Some([b'/', name, ..]) if !matches!(name, b'/' | b'.') => rest.map(|rest| Path::new(OsStr::from_bytes(&rest[1..]))),
        _ => path.strip_prefix(folder).ok(),
    }
}

/// Explains an error about a missing file below an open root. Either another process moved or removed the file between two steps of
/// a command ([`Error::Conflict`]), or the root itself is gone ([`Error::NotFound`], or [`Error::Conflict`] if another folder took
/// its place). Returns other errors unchanged.
pub fn explain_missing(error: Error) -> Error {
    let missing = match &error {
        Error::Io { path, .. } if error.is_missing_file() => root_of(path),
        _ => None,
    };
    let Some((root, below)) = missing else { return error };
    root.check_in_place().err().unwrap_or_else(|| {
        let hint = ("repeat it if it still applies; look where the workflow stands now", "ask-answer show ID, relaunch status ID");
        Error::conflict(format!("another process moved or removed {} while this command ran", below.display()), hint)
    })
}

/// True if an open root has this path.
pub(in crate::disk) fn is_root(path: &Path) -> bool {
    root_of(path).is_some_and(|(_, below)| below.as_os_str().is_empty())
}

/// The flags of a file that may be changed.
const CHANGES: OFlags = OFlags::WRONLY.union(OFlags::RDWR).union(OFlags::CREATE).union(OFlags::TRUNC);

/// Opens a path. A new file gets this mode.
pub(in crate::disk) fn open_with(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC;
    let mode = if flags.contains(OFlags::CREATE) { files::permissions(mode) } else { Mode::empty() };
    if flags.intersects(CHANGES) {
        check_may_change(path)?;
    }
    Ok(match root_of(path) {
        Some((root, below)) => root.open_below(below, flags, mode)?,
        None => rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, mode))?,
    }
    .into())
}

/// Fails if the path lies below a root that was opened only to look.
pub(in crate::disk) fn check_may_change(path: &Path) -> io::Result<()> {
    match root_of(path) {
        Some((root, _)) if root.purpose == Purpose::Look => Err(Errno::ROFS.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_below_a_folder_is_the_one_that_its_components_say() {
        for folder in ["/m/q", "/m/q/", "/m//q", "/"] {
            for path in ["/m/q", "/m/q/", "/m/q/a", "/m/q//a", "/m//q/a", "/m/q/./a/b.json", "/m/q/../a", "/m/queue/a", "/m", "q/a", ""] {
                assert_eq!(below(folder.as_ref(), path.as_ref()), Path::new(path).strip_prefix(folder).ok(), "{folder} {path}");
            }
        }
    }
}
