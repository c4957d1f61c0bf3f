//! Writes and reads the file of an archived round: a compressed tar, with the round's files under their paths in the mailbox.
//!
//! Archives logs, each in one file: `archive/YYYY-MM/NAME.TIME.HASH.jsonl.gz`. The name depends on the content, so a file that is archived
//! again, because a process was killed, replaces itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, Header};
use uuid::Uuid;

use crate::archive::ArchivedRound;
use crate::archive::name::{folder, month_of, stamp};
use askbox_mailbox::{Error, IoContext, Mailbox, Result, Time, disk};

type Entry<'a> = tar::Entry<'a, GzDecoder<BufReader<File>>>;

/// The small files of a round: its document and the records of its attempts, by their paths below the mailbox.
pub type Content = BTreeMap<String, Vec<u8>>;

/// Archives a round with these files, named by their paths below the mailbox. If the round is archived already, its other files stay. Returns
/// the length of the archive in bytes. A new one is durable once its filesystem is synced.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read, or if the system refuses. [`Error::Failed`] if the round is archived already and damaged there.
/// The archive is then as before.
pub fn write(mailbox: &Mailbox, round: &ArchivedRound, files: &[&str]) -> Result<u64> {
    let path = round.path(mailbox);
    let mut packed = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for name in files {
        let from = mailbox.root().join(name);
        add(&mut packed, name, disk::open_to_read(&from)?).io("archive", &from)?;
    }
    let is_there = disk::exists(&path);
    if is_there {
        each_file(&path, |name, file| {
            let header = &mut file.header().clone();
            if files.contains(&name) { Ok(()) } else { packed.append_data(header, name, file) }
        })?;
    }
    let bytes = packed.into_inner().and_then(GzEncoder::finish).io("archive", &path)?;
    disk::touch_folder(path.parent().unwrap_or(&path))?;
    // An archive with files that the mailbox no longer has is never half replaced.
    if is_there {
        disk::replace(&path, &bytes)?
    } else {
        disk::replace_unsynced(&path, &bytes, round.closed.into())?
    }
    Ok(bytes.len() as u64)
}

fn add(packed: &mut Builder<GzEncoder<Vec<u8>>>, name: &str, file: File) -> io::Result<()> {
    let meta = file.metadata()?;
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut header = Header::new_gnu();
    header.set_mode(0o600);
    header.set_mtime(changed.as_secs());
    header.set_size(meta.len());
    let mut content = file.take(meta.len());
    packed.append_data(&mut header, name, &mut content)?;
    if content.limit() == 0 { Ok(()) } else { Err(io::Error::other("the file became shorter")) }
}

/// Hands over every file of an archive, with its name.
fn each_file(path: &Path, mut take: impl FnMut(&str, &mut Entry<'_>) -> io::Result<()>) -> Result<()> {
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(disk::open_to_read(path)?)));
    let read = || {
        for file in archive.entries()? {
            let mut file = file?;
            let name = String::from_utf8_lossy(&file.path_bytes()).into_owned();
            take(&name, &mut file)?;
        }
        // The checksum follows the last file.
        io::copy(&mut archive.into_inner(), &mut io::sink())
    };
    read().map(drop).map_err(|e| {
        Error::failed(format!("{} is damaged: {e}", path.display()), "restore it from a backup; the other rounds can still be read")
    })
}

/// The document and the records of attempts of an archived round.
///
/// # Errors
/// [`Error::Failed`] if its file is damaged. [`Error::Io`] if it cannot be opened.
pub fn content(path: &Path) -> Result<Content> {
    let mut found = Content::new();
    each_file(path, |name, file| {
        if name.starts_with("closed/") || name.ends_with("/run.json") {
            file.read_to_end(found.entry(name.to_owned()).or_default())?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Hands over each line of a file of a round, without its line feed. Returns true if the archive has that file. One line is in memory at a
/// time.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged. [`Error::Io`] if it cannot be opened. The first error of `take`.
pub fn each_line(path: &Path, wanted: &str, mut take: impl FnMut(&str) -> Result<()>) -> Result<bool> {
    let (mut is_there, mut taken) = (false, Ok(()));
    each_file(path, |name, file| {
        if name == wanted {
            is_there = true;
            for line in BufReader::new(file).split(b'\n') {
                taken = take(&String::from_utf8_lossy(&line?));
                // An error of the caller does not mean that the archive is damaged.
                if taken.is_err() {
                    break;
                }
            }
        }
        Ok(())
    })?;
    taken.map(|()| is_there)
}

/// Reads an archive to its end.
pub(super) fn check(path: &Path) -> Result<()> {
    each_file(path, |_, file| io::copy(file, &mut io::sink()).map(drop))
}

/// The largest log that is archived, in bytes.
const LARGEST: u64 = 1 << 30;

/// Moves a log into the archive: writes it there, durably, and then removes it. Returns the length of the archive in bytes.
///
/// # Errors
/// [`Error::Io`](askbox_mailbox::error::Error::Io) if the system refuses. The log stays then.
pub fn take_in(mailbox: &Mailbox, name: &str, at: Time, from: &Path) -> Result<u64> {
    let bytes = disk::read(from, LARGEST)?;
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, &bytes).simple().to_string();
    let folder = folder(mailbox).join(month_of(at));
    let path = folder.join(format!("{name}.{}.{hash}.jsonl.gz", stamp(at)));
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&bytes).io("archive", from)?;
    let packed = packed.finish().io("archive", from)?;
    disk::create_folder(&folder)?;
    disk::replace(&path, &packed)?;
    disk::remove(from)?;
    Ok(packed.len() as u64)
}
