//! Archives of files that have lines of their own: old parts of the audit trail, and the bookings of a month. A member is such a file.

use std::io::Read;
use std::path::Path;

use askbox_mailbox::{IoContext, Result, disk, document};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::archive::index::MemberPlace;
use crate::archive::{self, Month, Writer};

/// A kind of such files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `archive/YYYY-MM.audit.jsonl.gz`
    Audit,
    /// `archive/YYYY-MM.costs.jsonl.gz`
    Costs,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Costs => "costs",
        }
    }
}

/// A line of the index of such an archive.
#[derive(Serialize, Deserialize)]
struct Logged {
    #[serde(flatten)]
    place: MemberPlace,
    /// The SHA-256 of the file, in hexadecimal.
    sha256: String,
}

impl Writer<'_> {
    /// Moves a file into the archive of its kind and month: appends it, unless a killed process has done that already, and removes it.
    ///
    /// # Errors
    /// [`Error::Io`](askbox_mailbox::error::Error::Io) if the system refuses. [`Error::Failed`](askbox_mailbox::error::Error::Failed) if
    /// the archive and its index do not fit together. The file stays then.
    pub fn take_in(&self, kind: Kind, month: Month, from: &Path) -> Result<u64> {
        let folder = archive::folder(self.mailbox());
        let name = format!("{month}.{}", kind.word());
        let (path, index) = (folder.join(format!("{name}.jsonl.gz")), folder.join(format!("{name}.index")));
        let sha256 = sha256(from)?;
        let mut grown = 0;
        if !holds(&index, &sha256)? {
            let fill =
                |member: &mut archive::writer::Packed| std::io::copy(&mut disk::open_to_read(from)?, member).io("archive", from).map(drop);
            grown = self.append_member(&path, &index, fill, |place| document::to_json(&Logged { place, sha256: sha256.clone() }))?;
        }
        disk::remove(from)?;
        Ok(grown)
    }
}

fn sha256(path: &Path) -> Result<String> {
    let (mut file, mut hash, mut bytes) = (disk::open_to_read(path)?, Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut bytes).io("read", path)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            read => hash.update(&bytes[..read]),
        }
    }
}

/// True if a complete line of the index has this hash. There are at most some hundred lines.
fn holds(index: &Path, sha256: &str) -> Result<bool> {
    let (length, _) = archive::index::lengths(index)?;
    let Some(bytes) = disk::if_there(disk::read(index, 16 << 20))? else { return Ok(false) };
    let complete = &bytes[..usize::try_from(length).unwrap_or(0).min(bytes.len())];
    Ok(complete.split(|byte| *byte == b'\n').filter_map(document::json::<Logged>).any(|logged| logged.sha256 == sha256))
}
