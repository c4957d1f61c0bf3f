//! Makes an index again whose file was lost, from its archive. The archive says everything but the time of each document's last change: the
//! end of the round takes its place.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};

use askbox_mailbox::{Closing, Document, Error, IoContext, Mailbox, Result, RoundId, Time, disk, document};
use chrono::TimeDelta;
use flate2::bufread::GzDecoder;
use serde::{Deserialize, Serialize};

use crate::archive::index::{self, Identity, Indexed, Member, MemberPlace};
use crate::archive::line::Line;
use crate::archive::reader::read_line;
use crate::archive::{self, Month, Writer};

/// The month's archive has lost its index.
pub(super) fn error(mailbox: &Mailbox, month: Month) -> Option<Error> {
    let (file, index) = (archive::file(mailbox, month), archive::index_file(mailbox, month));
    let is_lost = !disk::exists(&index) && disk::exists(&file);
    is_lost.then(|| Error::failed(format!("{} has lost its index {}", file.display(), index.display()), "make the index again: askbox gc"))
}

/// The fields of a document that an index repeats.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    #[serde(default)]
    timestamp: Option<Time>,
    #[serde(default)]
    closed: Option<Closing>,
}

impl Writer<'_> {
    /// Makes every lost index again. Returns the months with the result.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder of the archives cannot be read.
    pub fn make_lost_indexes(&self) -> Result<Vec<(Month, Result<()>)>> {
        let mailbox = self.mailbox();
        let lost = index::months(mailbox)?.into_iter().filter(|month| error(mailbox, *month).is_some());
        Ok(lost.map(|month| (month, make(mailbox, month))).collect())
    }
}

/// Makes the index of a month. If a part of the archive cannot be read, nothing is written: what no index names would be cut off.
fn make(mailbox: &Mailbox, month: Month) -> Result<()> {
    let path = archive::file(mailbox, month);
    let mut archive = BufReader::new(disk::open_to_read(&path)?);
    let (mut lines, mut seen) = (Vec::new(), HashSet::new());
    while !archive.fill_buf().io("read", &path)?.is_empty() {
        let offset = archive.stream_position().io("read", &path)?;
        let (raw, ends) = rounds(&mut archive).map_err(|e| {
            let message = format!("{} is damaged behind its first {offset} bytes, so its index cannot be made again: {e}", path.display());
            Error::failed(message, "restore the archive or its index from a backup")
        })?;
        let bytes = archive.stream_position().io("read", &path)? - offset;
        let rounds = ends.into_iter().map(|(round, end)| indexed(month, round, &end, &mut seen)).collect();
        lines.extend(document::to_json(&Member { place: MemberPlace { offset, bytes, raw }, rounds })?);
        lines.push(b'\n');
    }
    disk::replace(&archive::index_file(mailbox, month), &lines)
}

fn indexed(month: Month, round: RoundId, end: &End, seen: &mut HashSet<Identity>) -> Indexed {
    let closed = end.closed.as_ref().map(|closed| closed.at);
    let changed = closed.or(end.timestamp).filter(|at| Month::of(*at) == month);
    let changed = changed.unwrap_or_else(|| month.end() - TimeDelta::seconds(1));
    let mut found = Indexed { workflow_id: round.workflow, question_id: round.question, changed, closed, again: false };
    found.again = !seen.insert(found.identity());
    found
}

/// Reads one member. Returns its length, uncompressed, and its rounds.
fn rounds(archive: &mut BufReader<File>) -> Result<(u64, BTreeMap<RoundId, End>)> {
    let mut lines = BufReader::new(GzDecoder::new(archive));
    let (mut raw, mut documents) = (0, BTreeMap::<RoundId, Vec<u8>>::new());
    loop {
        let mut bytes = Vec::new();
        let read = read_line(&mut lines, &mut bytes).map_err(|e| Error::failed(e.to_string(), ""))?;
        if read == 0 {
            break;
        }
        raw += read as u64;
        let line: Line = document::json(&bytes).ok_or_else(|| Error::failed("a line is not of an archive", ""))?;
        let round = line.round();
        let is_document = line.file.starts_with("closed/");
        let document = documents.entry(round).or_default();
        if is_document {
            document.extend(line.bytes()?);
        }
    }
    let end = |bytes: &[u8]| Document::<End>::parse(bytes).map_or(End { timestamp: None, closed: None }, |document| document.typed);
    Ok((raw, documents.into_iter().map(|(round, bytes)| (round, end(&bytes))).collect()))
}
