//! The index of a month: one line for each member of its archive, in their order.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use askbox_mailbox::disk::LinesFromEnd;
use askbox_mailbox::{Error, IoContext, Mailbox, QuestionId, Result, RoundId, Time, WorkflowId, disk, document};
use serde::{Deserialize, Serialize};

use crate::archive::{self, Month};

/// The longest line of an index that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// A member of an archive, and the rounds in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Member {
    #[serde(flatten)]
    pub(super) place: MemberPlace,
    pub(super) rounds: Vec<Indexed>,
}

/// Where a member lies in its file, and how long it is uncompressed, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct MemberPlace {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) raw: u64,
}

/// A round of a member.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Indexed {
    pub(super) workflow_id: WorkflowId,
    pub(super) question_id: QuestionId,
    /// The modification time of its document.
    pub(super) changed: Time,
    /// The end of the round. Two rounds may have the same id if it is derived from the question. Their ends differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) closed: Option<Time>,
    /// True if an earlier member holds an earlier state of the same round. That one no longer counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) again: bool,
}

/// A round and its end.
pub(super) type Identity = (WorkflowId, QuestionId, Option<Time>);

impl Indexed {
    pub(super) fn identity(&self) -> Identity {
        (self.workflow_id.clone(), self.question_id, self.closed)
    }
}

/// A member in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Located {
    /// The month of the archive.
    pub month: Month,
    pub(super) place: MemberPlace,
}

/// The months that have an archive or an index, ascending.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub fn months(mailbox: &Mailbox) -> Result<Vec<Month>> {
    let folder = archive::folder(mailbox);
    let Some(entries) = disk::entries_if_there(&folder)? else { return Ok(Vec::new()) };
    let mut months = Vec::new();
    for entry in entries {
        let name = entry.io("read", &folder)?.name;
        months.extend(name.to_str().and_then(|name| Month::parse(name.strip_suffix(".index").or_else(|| name.strip_suffix(".jsonl.gz"))?)));
    }
    months.sort_unstable();
    months.dedup();
    Ok(months)
}

/// The members of a month, the last one first. A line that cannot be read is an error, and the others follow it. An incomplete last line
/// is passed over. With `only`, lines without this workflow are passed over.
pub(super) fn members_from_end(
    mailbox: &Mailbox,
    month: Month,
    only: Option<&WorkflowId>,
) -> Result<impl Iterator<Item = Result<Member>> + use<>> {
    let path = archive::index_file(mailbox, month);
    let word = only.map(|workflow| format!("\"workflow_id\":\"{workflow}\""));
    let lines = match disk::open_to_read(&path) {
        Err(e) if e.is_missing_file() => None,
        // The other months can still be read.
        Err(e) => return Err(Error::failed(e.to_string(), e.hint())),
        Ok(mut file) => {
            let is_torn = !ends_with_a_line(&mut file).io("read", &path)?;
            Some(LinesFromEnd::new(file).io("read", &path)?.bounded(LONGEST).skip(usize::from(is_torn)))
        }
    };
    let read = move |line: std::io::Result<Vec<u8>>| {
        let line = line.io("read", &path)?;
        if word.as_ref().is_some_and(|word| !std::str::from_utf8(&line).is_ok_and(|line| line.contains(word))) {
            return Ok(None);
        }
        document::json::<Member>(&line).map(Some).ok_or_else(|| not_of_an_index(&path, &line))
    };
    Ok(lines.into_iter().flatten().filter_map(move |line| read(line).transpose()))
}

fn ends_with_a_line(file: &mut File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

/// The lengths of the complete part of an index, and of the archive that it describes.
pub(super) fn lengths(index: &Path) -> Result<(u64, u64)> {
    let Some(mut file) = disk::if_there(disk::open_to_read(index))? else { return Ok((0, 0)) };
    let length = file.seek(SeekFrom::End(0)).io("read", index)?;
    let is_torn = !ends_with_a_line(&mut file).io("read", index)?;
    let mut lines = LinesFromEnd::new(file).io("read", index)?.bounded(LONGEST);
    let torn = if is_torn { lines.next().transpose().io("read", index)?.map_or(0, |line| line.len() as u64) } else { 0 };
    let last = lines.next().transpose().io("read", index)?;
    let place = last.map(|line| document::json::<MemberPlace>(&line).ok_or_else(|| not_of_an_index(index, &line))).transpose()?;
    Ok((length - torn, place.map_or(0, |place| place.offset.saturating_add(place.bytes))))
}

fn not_of_an_index(path: &Path, line: &[u8]) -> Error {
    let text = askbox_mailbox::text::excerpt(&String::from_utf8_lossy(line), 60);
    let hint = "restore it from a backup; `zcat` still reads the archive beside it";
    Error::failed(format!("{} has a line that is not of an index: {text}", path.display()), hint)
}

/// Finds rounds of these months: for each its newest member.
///
/// # Errors
/// [`Error::Failed`] if an index cannot be opened.
pub fn located(mailbox: &Mailbox, months: &HashSet<Month>, rounds: &HashSet<RoundId>) -> Result<HashMap<RoundId, Located>> {
    let mut found = HashMap::new();
    let mut newest_first: Vec<Month> = months.iter().copied().collect();
    newest_first.sort_unstable();
    for month in newest_first.into_iter().rev() {
        for member in members_from_end(mailbox, month, None)? {
            // Rounds in a line that cannot be read are archived once more.
            let Ok(member) = member else { continue };
            for round in member.rounds {
                let id = RoundId { workflow: round.workflow_id, question: round.question_id };
                if rounds.contains(&id) {
                    found.entry(id).or_insert(Located { month, place: member.place });
                }
            }
        }
    }
    Ok(found)
}
