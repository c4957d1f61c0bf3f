//! Reads members of an archive. The bytes may be damaged: a member is read only as far as its index says, and line by line.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use askbox_mailbox::{Error, Mailbox, Result, RoundId, disk, document};
use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};

use crate::archive;
use crate::archive::index::Located;
use crate::archive::line::{LONGEST, Line};

/// The small files of a round: its document and the records of its attempts, by their paths below the mailbox.
pub type Content = BTreeMap<String, Vec<u8>>;

/// Hands over every line of a member.
///
/// # Errors
/// [`Error::Failed`] with the file and the place if the member is damaged.
pub(super) fn each_line(mailbox: &Mailbox, located: Located, mut take: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let (path, place) = (archive::file(mailbox, located.month), located.place);
    let damaged = |why: &dyn std::fmt::Display| {
        let message = format!("{} is damaged in the {} bytes from {}: {why}", path.display(), place.bytes, place.offset);
        Error::failed(message, "restore it from a backup; the other rounds can still be read")
    };
    let mut file = disk::open_to_read(&path).map_err(|e| damaged(&e))?;
    file.seek(SeekFrom::Start(place.offset)).map_err(|e| damaged(&e))?;
    let member = GzDecoder::new(BufReader::new(file.take(place.bytes)));
    // One byte more than there should be, to notice it, and to let the decoder compare its checksum.
    let mut lines = BufReader::new(member.take(place.raw.saturating_add(1)));
    let mut total = 0;
    loop {
        let mut line = Vec::new();
        let read = read_line(&mut lines, &mut line).map_err(|e| damaged(&e))?;
        total += read as u64;
        if read == 0 {
            break;
        }
        take(document::json(&line).ok_or_else(|| damaged(&"a line is not of an archive"))?).map_err(|e| damaged(&e))?;
    }
    if total == place.raw { Ok(()) } else { Err(damaged(&format!("it has another length than {} bytes", place.raw))) }
}

pub(super) fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let read = lines.take(LONGEST as u64).read_until(b'\n', line)?;
    if read > 0 && line.pop() != Some(b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long or incomplete"));
    }
    Ok(read)
}

/// The documents and the records of attempts in a member, by round.
///
/// # Errors
/// [`Error::Failed`] with the file and the place if the member is damaged.
pub fn content(mailbox: &Mailbox, located: Located) -> Result<HashMap<RoundId, Content>> {
    let mut found: HashMap<RoundId, Content> = HashMap::new();
    each_line(mailbox, located, |line| {
        let is_wanted = line.file.starts_with("closed/") || line.file.ends_with("/run.json");
        if is_wanted {
            let (round, file) = (line.round(), line.file.clone());
            found.entry(round).or_default().entry(file).or_default().extend(line.bytes()?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Hands over the parts of one file of a round, in their order. Returns true if the archive has that file.
///
/// # Errors
/// [`Error::Failed`] with the file and the place if the member is damaged. The first error of `take`.
pub fn file_parts(
    mailbox: &Mailbox,
    located: Located,
    round: &RoundId,
    file: &str,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<bool> {
    let (mut is_there, mut refused) = (false, None);
    each_line(mailbox, located, |line| {
        if line.file == file && line.round() == *round && refused.is_none() {
            is_there = true;
            // An error of the caller does not mean that the archive is damaged.
            refused = take(&line.bytes()?).err();
        }
        Ok(())
    })?;
    refused.map_or(Ok(is_there), Err)
}

/// The SHA-256 of every file of a round in a member.
///
/// # Errors
/// [`Error::Failed`] with the file and the place if the member is damaged.
pub fn digests(mailbox: &Mailbox, located: Located, round: &RoundId) -> Result<HashMap<String, [u8; 32]>> {
    let mut hashed: HashMap<String, Sha256> = HashMap::new();
    each_line(mailbox, located, |line| {
        if line.round() == *round {
            let file = line.file.clone();
            hashed.entry(file).or_default().update(line.bytes()?);
        }
        Ok(())
    })?;
    Ok(hashed.into_iter().map(|(file, hash)| (file, hash.finalize().into())).collect())
}
