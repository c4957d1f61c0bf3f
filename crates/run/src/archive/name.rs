//! The names of archived rounds: `archive/YYYY-MM/W.Q.END.tar.gz`.

use std::path::{Path, PathBuf};

use askbox_mailbox::{IoContext, Mailbox, QuestionId, Result, RoundId, Time, WorkflowId, disk};
use chrono::{NaiveDate, NaiveDateTime, SubsecRound};

/// The form of a time in a name.
const STAMP: &str = "%Y%m%dT%H%M%S%3fZ";

/// A round in the archive. Rounds are ordered by the fields in this order. Two rounds may have the same id if it is derived from the
/// question. Their ends differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchivedRound {
    /// When the round ended, in milliseconds.
    pub closed: Time,
    question: QuestionId,
    workflow: WorkflowId,
}

impl ArchivedRound {
    /// The round that ended at this time.
    pub fn new(id: &RoundId, closed: Time) -> Self {
        Self { closed: closed.trunc_subsecs(3), question: id.question, workflow: id.workflow.clone() }
    }

    fn parse(name: &str) -> Option<Self> {
        let (round, closed) = name.strip_suffix(".tar.gz")?.rsplit_once('.')?;
        let (workflow, question) = round.rsplit_once('.')?;
        let closed = NaiveDateTime::parse_from_str(closed, STAMP).ok()?.and_utc();
        Some(Self { closed, question: question.parse().ok()?, workflow: workflow.parse().ok()? })
    }

    /// The round's id.
    pub fn id(&self) -> RoundId {
        RoundId { workflow: self.workflow.clone(), question: self.question }
    }

    /// The file of the round.
    pub fn path(&self, mailbox: &Mailbox) -> PathBuf {
        folder(mailbox).join(month_of(self.closed)).join(format!("{}.{}.tar.gz", self.id(), stamp(self.closed)))
    }
}

/// The folder of the archives.
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("archive")
}

/// The month of a time. The order of the words is that of the months.
pub fn month_of(time: Time) -> String {
    time.format("%Y-%m").to_string()
}

pub(super) fn stamp(time: Time) -> String {
    time.format(STAMP).to_string()
}

/// The months that have a folder, ascending.
///
/// # Errors
/// [`Error::Io`](askbox_mailbox::error::Error::Io) if the folder of the archives cannot be read.
pub fn months(mailbox: &Mailbox) -> Result<Vec<String>> {
    let is_month = |name: &String| NaiveDate::parse_from_str(&format!("{name}-01"), "%Y-%m-%d").is_ok();
    let mut months: Vec<String> = names(&folder(mailbox))?.collect::<Result<_>>()?;
    months.retain(is_month);
    months.sort_unstable();
    Ok(months)
}

/// The archived rounds of a month: those of one workflow, or all.
///
/// # Errors
/// [`Error::Io`](askbox_mailbox::error::Error::Io) if the folder cannot be read.
pub fn rounds_of(
    mailbox: &Mailbox,
    month: &str,
    workflow: Option<&WorkflowId>,
) -> Result<impl Iterator<Item = Result<ArchivedRound>> + use<>> {
    let begin = workflow.map_or_else(String::new, |workflow| format!("{workflow}."));
    let workflow = workflow.cloned();
    let is_wanted = move |round: &ArchivedRound| workflow.as_ref().is_none_or(|workflow| round.workflow == *workflow);
    let parse = move |name: String| name.starts_with(&begin).then(|| ArchivedRound::parse(&name).filter(&is_wanted))?;
    Ok(names(&folder(mailbox).join(month))?.filter_map(move |name| name.map(&parse).transpose()))
}

fn names(folder: &Path) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    let (entries, path) = (disk::entries_if_there(folder)?, folder.to_owned());
    let name = move |entry: std::io::Result<disk::Entry>| entry.io("read", &path).map(|entry| entry.name.into_string().ok()).transpose();
    Ok(entries.into_iter().flatten().filter_map(name))
}
