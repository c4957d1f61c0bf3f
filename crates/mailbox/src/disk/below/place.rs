//! A name in an opened folder. If another process replaces the folder at its path, the system calls still act on the opened folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::disk::below::{check_may_change, open_with};
use crate::error::{Error, IoContext, Result};
use crate::platform::files;

/// An opened folder.
#[derive(Debug)]
pub(in crate::disk) struct OpenFolder {
    file: File,
    path: PathBuf,
}

impl OpenFolder {
    pub(in crate::disk) fn open(path: &Path) -> io::Result<Self> {
        let file = open_with(path, OFlags::RDONLY | OFlags::DIRECTORY, 0)?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// [`open`](Self::open) a folder to change the names in it.
    pub(in crate::disk) fn open_to_change(path: &Path) -> io::Result<Self> {
        check_may_change(path)?;
        Self::open(path)
    }

    pub(in crate::disk) fn file(&self) -> &File {
        &self.file
    }

    pub(in crate::disk) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the names in the folder durable.
    pub(in crate::disk) fn sync(&self) -> Result<()> {
        self.file.sync_all().io("sync", &self.path)
    }
}

/// Makes the names in a folder durable.
pub(in crate::disk) fn sync_folder(folder: &Path) -> Result<()> {
    OpenFolder::open(folder).io("open", folder)?.sync()
}

/// A name in an opened folder. A file with this name may or may not exist.
#[derive(Debug, Clone)]
pub(in crate::disk) struct Place {
    pub(in crate::disk) folder: Arc<OpenFolder>,
    name: OsString,
}

impl Place {
    /// Returns the place that a path names. Its folder must exist.
    pub(in crate::disk) fn at(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no name"))?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Ok(Self { folder: Arc::new(OpenFolder::open_to_change(folder)?), name: name.to_owned() })
    }

    /// Returns the place of another name in the same folder.
    pub(in crate::disk) fn beside(&self, name: impl AsRef<OsStr>) -> Self {
        Self { folder: Arc::clone(&self.folder), name: name.as_ref().to_owned() }
    }

    /// Returns the place of a name in an opened folder.
    pub(in crate::disk) fn within(folder: &Arc<OpenFolder>, name: impl AsRef<OsStr>) -> Self {
        Self { folder: Arc::clone(folder), name: name.as_ref().to_owned() }
    }

    /// Returns the permission bits of the file, if the file exists.
    pub(in crate::disk) fn mode(&self) -> Option<u32> {
        let meta = rustix::fs::statat(&self.folder.file, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(files::mode(&meta) & 0o777)
    }

    /// Creates a file; fails if the name exists.
    pub(in crate::disk) fn create(&self, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(&self.folder.file, &self.name, flags, files::permissions(mode));
        Ok(rustix::io::retry_on_intr(open)?.into())
    }

    /// True if the file's content is exactly this.
    pub(in crate::disk) fn holds(&self, content: &[u8]) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(&self.folder.file, &self.name, flags, Mode::empty());
        let file: File = rustix::io::retry_on_intr(open)?.into();
        let mut found = Vec::with_capacity(content.len() + 1);
        file.take(content.len() as u64 + 1).read_to_end(&mut found)?;
        Ok(found == content)
    }

    /// Creates a folder; fails if the name exists.
    pub(in crate::disk) fn create_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.folder.file, &self.name, Mode::RWXU)?)
    }

    /// Creates a FIFO; fails if the name exists.
    pub(in crate::disk) fn create_fifo(&self) -> io::Result<()> {
        Ok(files::create_fifo(&self.folder.file, self.name.as_ref())?)
    }

    /// Gives the file another name, without a sync. Fails with [`io::ErrorKind::AlreadyExists`] if `to` exists.
    pub(in crate::disk) fn rename_noreplace(&self, to: &Self) -> io::Result<()> {
        let (here, there) = (&self.folder.file, &to.folder.file);
        match rustix::fs::renameat_with(here, &self.name, there, &to.name, RenameFlags::NOREPLACE) {
            // Some filesystems have no such rename. A link refuses an existing name, too.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(here, &self.name, there, &to.name, AtFlags::empty())?;
                self.remove()
            }
            other => Ok(other?),
        }
    }

    /// Gives the file another name, without a sync. Replaces a file that has that name.
    pub(in crate::disk) fn rename_over(&self, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder.file, &self.name, &to.folder.file, &to.name)?)
    }

    /// Exchanges the names of two files, without a sync.
    pub(in crate::disk) fn exchange(&self, with: &Self) -> rustix::io::Result<()> {
        rustix::fs::renameat_with(&self.folder.file, &self.name, &with.folder.file, &with.name, RenameFlags::EXCHANGE)
    }

    /// Removes the file, without a sync.
    pub(in crate::disk) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder.file, &self.name, AtFlags::empty())?)
    }

    /// Removes the folder if it is empty, without a sync.
    pub(in crate::disk) fn remove_folder(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder.file, &self.name, AtFlags::REMOVEDIR)?)
    }
}

/// Returns the folder of a file.
pub(in crate::disk) fn parent(path: &Path) -> Result<&Path> {
    match path.parent() {
        Some(p) if p.as_os_str().is_empty() => Ok(Path::new(".")),
        Some(p) => Ok(p),
        None => Err(Error::failed(format!("{} has no folder", path.display()), "name a file")),
    }
}
