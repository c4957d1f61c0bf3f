//! A file that only grows, durably.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::disk::unsynced::open_append;
use crate::error::{Error, IoContext, Result};

/// A file that is written behind its known part. What is written counts once [`Appended::sync`] has returned.
#[derive(Debug)]
pub struct Appended {
    file: File,
    path: PathBuf,
}

impl Appended {
    /// Opens a file whose first `length` bytes count, and cuts off what lies behind them: a killed process wrote it. Creates the file
    /// with mode 0600 if it does not exist.
    ///
    /// # Errors
    /// [`Error::Failed`] if the file is shorter than `length`. [`Error::Io`] if the system refuses.
    pub fn open(path: &Path, length: u64) -> Result<Self> {
        let file = open_append(path)?;
        let found = file.metadata().io("read", path)?.len();
        if found < length {
            let hint = "restore it from a backup, or rename it and the index beside it; then a new one begins";
            return Err(Error::failed(format!("{} has {found} bytes of {length}: its end is missing", path.display()), hint));
        }
        if found > length {
            file.set_len(length).io("cut off the end of", path)?;
        }
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Makes everything durable that was written.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().io("sync", &self.path)
    }
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_the_known_part_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        Appended::open(&path, 0).unwrap().write_all(b"known, torn").unwrap();
        let mut file = Appended::open(&path, 5).unwrap();
        file.write_all(b"!").unwrap();
        file.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"known!");
        assert!(Appended::open(&path, 7).unwrap_err().to_string().contains("6 bytes of 7"));
    }
}
