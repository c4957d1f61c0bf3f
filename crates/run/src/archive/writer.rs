//! Appends members to the archives. One process does so at a time: it holds `locks/archive`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use askbox_mailbox::disk::{Appended, Lock};
use askbox_mailbox::{Error, IoContext, Mailbox, Result, RoundId, Time, disk, document};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::archive::index::{self, Indexed, Member, MemberPlace};
use crate::archive::{self, Month, line};

/// A member is complete when it has this many bytes, uncompressed. A reader of one round reads its whole member.
const ENOUGH: u64 = 512 << 10;
/// The most rounds of a member, so that a line of the index stays short.
const ROUNDS: usize = 256;

/// A round for the archive.
#[derive(Debug)]
pub struct Source<'a> {
    /// The round.
    pub round: &'a RoundId,
    /// The modification time of its document.
    pub changed: Time,
    /// The end of the round.
    pub closed: Option<Time>,
    /// True if the archive holds an earlier state of this round.
    pub again: bool,
    /// Its files: the path below the mailbox, and the path to read.
    pub files: Vec<(&'a str, PathBuf)>,
}

/// The right to append to the archives.
#[derive(Debug)]
pub struct Writer<'a> {
    mailbox: &'a Mailbox,
    _lock: Lock,
}

impl<'a> Writer<'a> {
    /// Takes the right to append. `None` if another process has it.
    ///
    /// # Errors
    /// [`Error::Io`] if the system refuses.
    pub fn try_new(mailbox: &'a Mailbox) -> Result<Option<Self>> {
        Ok(Lock::try_acquire(&mailbox.lock_file("archive"))?.map(|lock| Self { mailbox, _lock: lock }))
    }

    /// Cuts off what killed processes left behind the ends of archives and indexes.
    pub fn cut_off_torn_ends(&self) {
        let torn = archive::state(self.mailbox).map(|state| state.torn).unwrap_or_default();
        for month in torn.iter().filter_map(|path| Month::parse(path.file_name()?.to_str()?.split_once('.')?.0)) {
            let (path, index) = (archive::file(self.mailbox, month), archive::index_file(self.mailbox, month));
            // If this fails, the end stays. Readers pass over it.
            let Ok((index_length, length)) = index::lengths(&index) else { continue };
            let _ = Appended::open(&path, length);
            let _ = Appended::open(&index, index_length);
        }
    }

    pub(super) fn mailbox(&self) -> &Mailbox {
        self.mailbox
    }

    /// True if a member with `rounds` rounds and `bytes` bytes should take no more.
    pub fn is_enough(rounds: usize, bytes: u64) -> bool {
        rounds >= ROUNDS || bytes >= ENOUGH
    }

    /// Appends one member with these rounds, which all belong to `month`. When this returns, they are durable. Returns the bytes that the
    /// archive grew by. After an error, none of them counts.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, or if the system refuses. [`Error::Failed`] if the month's files do not fit together.
    pub fn append(&self, month: Month, rounds: &[Source<'_>]) -> Result<u64> {
        let indexed = |source: &Source<'_>| Indexed {
            workflow_id: source.round.workflow.clone(),
            question_id: source.round.question,
            changed: source.changed,
            closed: source.closed,
            again: source.again,
        };
        let fill = |member: &mut Packed| {
            for source in rounds {
                for (name, from) in &source.files {
                    let file = disk::open_to_read(from)?;
                    line::of_file(source.round, name, file, |line| member.write_all(line)).io("archive", from)?;
                }
            }
            Ok(())
        };
        let (path, index) = (archive::file(self.mailbox, month), archive::index_file(self.mailbox, month));
        self.append_member(&path, &index, fill, |place| document::to_json(&Member { place, rounds: rounds.iter().map(indexed).collect() }))
    }

    /// Appends a member that `fill` writes, and then its line, which `line` makes.
    pub(super) fn append_member(
        &self,
        path: &Path,
        index: &Path,
        fill: impl FnOnce(&mut Packed) -> Result<()>,
        line: impl FnOnce(MemberPlace) -> Result<Vec<u8>>,
    ) -> Result<u64> {
        self.prepare(path, index)?;
        let (index_length, offset) = index::lengths(index)?;
        let mut packed = Packed { encoder: GzEncoder::new(Counted::new(path, offset)?, Compression::default()), raw: 0 };
        fill(&mut packed)?;
        let Packed { encoder, raw } = packed;
        let bytes = encoder.finish().io("write", path)?.complete().io("write", path)?;
        let mut line = line(MemberPlace { offset, bytes, raw })?;
        line.push(b'\n');
        let mut file = Appended::open(index, index_length)?;
        file.write_all(&line).io("append to", index)?;
        file.sync()?;
        Ok(bytes + line.len() as u64)
    }

    /// Makes the index, durably, before its archive: an archive without an index is one whose index was lost.
    fn prepare(&self, path: &Path, index: &Path) -> Result<()> {
        if !disk::exists(index) {
            if disk::exists(path) {
                let message = format!("{} has lost its index {}", path.display(), index.display());
                return Err(Error::failed(message, "restore the index or the archive from a backup: zcat still reads it"));
            }
            disk::create_folder(&archive::folder(self.mailbox))?;
            Appended::open(index, 0)?.sync()?;
        }
        if !disk::exists(path) {
            Appended::open(path, 0)?;
            // The names of both files.
            let folder = archive::folder(self.mailbox);
            disk::sync_names_up_to(&folder, &folder)?;
        }
        Ok(())
    }
}

/// The compressor of a member, which counts what goes in.
pub(super) struct Packed {
    encoder: GzEncoder<Counted>,
    raw: u64,
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.encoder.write(bytes)?;
        self.raw += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.flush()
    }
}

/// The end of an archive. It counts what is written.
struct Counted {
    file: BufWriter<Appended>,
    bytes: u64,
}

impl Counted {
    fn new(path: &Path, offset: u64) -> Result<Self> {
        Ok(Self { file: BufWriter::with_capacity(64 << 10, Appended::open(path, offset)?), bytes: 0 })
    }

    /// Makes everything durable, and returns the number of bytes.
    fn complete(self) -> io::Result<u64> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync().map_err(io::Error::other)?;
        Ok(self.bytes)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
