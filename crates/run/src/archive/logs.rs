//! Archives logs, each in one file: `archive/YYYY-MM/NAME.TIME.HASH.jsonl.gz`. The name depends on the content, so a file that is archived
//! again, because a process was killed, replaces itself.

use std::io::Write;
use std::path::Path;

use askbox_mailbox::{IoContext, Mailbox, Result, Time, disk};
use flate2::Compression;
use flate2::write::GzEncoder;
use uuid::Uuid;

use crate::archive::name::{folder, month_of, stamp};

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
