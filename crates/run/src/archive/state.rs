//! The state of all archives: their size, whether each fits its index, and whether each can be read.

use std::path::PathBuf;

use askbox_mailbox::{Error, Mailbox, Result, disk};

use crate::archive::{self, Located, index, lost_index, reader};

/// The archives of a mailbox.
#[derive(Debug, Default)]
pub struct ArchiveState {
    /// The number of months.
    pub months: u64,
    /// The length of all archives and their indexes, in bytes.
    pub bytes: u64,
    /// Archives that end behind the last member that counts: a process writes there, or was killed.
    pub torn: Vec<PathBuf>,
    /// Archives that have lost their index.
    pub lost: Vec<(PathBuf, Error)>,
    /// Archives that lack something else.
    pub damaged: Vec<(PathBuf, Error)>,
}

/// An archive with members that cannot be read.
#[derive(Debug)]
pub struct Damaged {
    /// The file.
    pub path: PathBuf,
    /// The error of the first such member.
    pub first: Error,
    /// How many such members it has.
    pub members: u64,
}

/// Reads whole archives until about `most` bytes are read, the newest month first, and returns the damaged ones.
///
/// # Errors
/// [`Error::Io`] if their folder cannot be read.
pub fn damage_of(mailbox: &Mailbox, most: u64) -> Result<Vec<Damaged>> {
    let (mut found, mut read) = (Vec::new(), 0);
    for month in index::months(mailbox)?.into_iter().rev() {
        if read >= most {
            break;
        }
        let (mut first, mut members) = (None, 0);
        for member in index::members_from_end(mailbox, month, None)? {
            // The index itself is looked at by `state`.
            let Ok(member) = member else { continue };
            read += member.place.bytes;
            if let Err(e) = reader::each_line(mailbox, Located { month, place: member.place }, |_| Ok(())) {
                members += 1;
                first.get_or_insert(e);
            }
        }
        found.extend(first.map(|first| Damaged { path: archive::file(mailbox, month), first, members }));
    }
    Ok(found)
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
        if let Some(lost) = lost_index::error(mailbox, month) {
            state.lost.push((path, lost));
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
