//! Reading a file that anybody may have put there.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::disk::primitives::open;
use crate::error::{Error, IoContext, Result};

/// Reads a regular file of ours, up to `limit` bytes. Symbolic links, devices, FIFOs and files of other users are refused.
///
/// # Errors
/// [`Error::Io`] where the system refuses, [`Error::Invalid`] with field `file` where the file is refused or longer than `limit`.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let invalid =
        |problem: String, fix: &str| Error::Invalid { file: path.display().to_string(), field: "file".into(), problem, fix: fix.into() };
    let file = match open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK) {
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(invalid("is a symbolic link".into(), "put the file itself there; links are not followed"));
        }
        // A socket cannot be opened at all, nor can a device without a driver.
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::NXIO | Errno::NODEV)) => {
            return Err(invalid("is not a regular file".into(), "put a regular file there"));
        }
        other => other.io("open", path)?,
    };
    let meta = file.metadata().io("read", path)?;
    if !meta.is_file() {
        return Err(invalid("is not a regular file".into(), "put a regular file there"));
    }
    check_owner(&meta).map_err(|uid| invalid(format!("belongs to user {uid}"), "only files of the mailbox's owner are read"))?;
    if meta.len() > limit {
        return Err(invalid(
            format!("is {} bytes long, the limit is {limit}", meta.len()),
            "shorten it, or put the bulk into a file of its own and name its path",
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes).io("read", path)?;
    if bytes.len() as u64 > limit {
        return Err(invalid(format!("grew past the limit of {limit} bytes"), "shorten it"));
    }
    Ok(bytes)
}

/// Files of this user and of root are trusted: root can write to any file anyway. Otherwise the error is the owner.
fn check_owner(meta: &fs::Metadata) -> Result<(), u32> {
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() == me || meta.uid() == 0 { Ok(()) } else { Err(meta.uid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_a_folder_and_a_file_over_the_limit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("f"), folder.path().join("l"));
        fs::write(&file, b"0123456789").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 100).unwrap_err().to_string().contains("symbolic link"));
        assert!(read(folder.path(), 100).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(&file, 9).unwrap_err().to_string().contains("10 bytes long"));
        assert_eq!(read(&file, 10).unwrap().len(), 10);
    }
}
