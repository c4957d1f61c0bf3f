//! The state of all archives: their size, and whether each can be read.

use std::path::PathBuf;

use askbox_mailbox::{Error, Mailbox, Result, disk};

use crate::archive::{months, packed, rounds_of};

/// The archives of a mailbox.
#[derive(Debug, Default)]
pub struct ArchiveState {
    /// The number of archived rounds.
    pub rounds: u64,
    /// The length of their files, in bytes.
    pub bytes: u64,
}

/// Looks at the archives.
///
/// # Errors
/// [`Error::Io`] if a folder cannot be read.
pub fn state(mailbox: &Mailbox) -> Result<ArchiveState> {
    let mut state = ArchiveState::default();
    for month in months(mailbox)? {
        for round in rounds_of(mailbox, &month, None)? {
            state.rounds += 1;
            state.bytes += disk::metadata(round?.path(mailbox)).map_or(0, |meta| meta.len());
        }
    }
    Ok(state)
}

/// Reads archives until about `most` bytes are read, the newest month first. Returns those that cannot be read.
///
/// # Errors
/// [`Error::Io`] if a folder cannot be read.
pub fn damage_of(mailbox: &Mailbox, most: u64) -> Result<Vec<(PathBuf, Error)>> {
    let (mut damaged, mut read) = (Vec::new(), 0);
    for month in months(mailbox)?.into_iter().rev() {
        for round in rounds_of(mailbox, &month, None)? {
            if read >= most {
                return Ok(damaged);
            }
            let path = round?.path(mailbox);
            read += disk::metadata(&path).map_or(0, |meta| meta.len());
            // A file that is gone was removed by a gc.
            damaged.extend(disk::if_there(packed::check(&path)).err().map(|e| (path, e)));
        }
    }
    Ok(damaged)
}
