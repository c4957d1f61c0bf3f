//! The state of all archives, without reading them: their size, and whether each fits its index.

use std::path::PathBuf;

use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::{Mailbox, disk};

use crate::archive::{self, index};

/// The archives of a mailbox.
#[derive(Debug, Default)]
pub struct ArchiveState {
    /// The number of months.
    pub months: u64,
    /// The length of all archives and their indexes, in bytes.
    pub bytes: u64,
    /// Archives that end behind the last member that counts: a process writes there, or was killed.
    pub torn: Vec<PathBuf>,
    /// Archives that lack something.
    pub damaged: Vec<(PathBuf, Error)>,
}

/// Looks at the archives.
///
/// # Errors
/// [`Error::Io`] if their folder cannot be read.
pub fn state(mailbox: &Mailbox) -> Result<ArchiveState> {
    let mut state = ArchiveState::default();
    let length = |path: &PathBuf| disk::metadata(path).map_or(0, |meta| meta.len());
    for month in index::months(mailbox)? {
        let (path, index) = (archive::file(mailbox, month), archive::index_file(mailbox, month));
        let found = length(&path);
        state.months += 1;
        state.bytes += found + length(&index);
        if !disk::exists(&index) {
            let hint = "restore the index from a backup, or rename the archive: zcat still reads it";
            state.damaged.push((path, Error::failed("it has lost its index", hint)));
            continue;
        }
        match index::lengths(&index) {
            Err(e) => state.damaged.push((index, e)),
            Ok((_, counts)) if found < counts => {
                let hint = "restore it from a backup, or rename it and its index";
                state.damaged.push((path, Error::failed(format!("has {found} bytes of {counts}: its end is missing"), hint)));
            }
            Ok((lines, counts)) if found > counts || length(&index) > lines => state.torn.push(path),
            Ok(_) => {}
        }
    }
    Ok(state)
}
