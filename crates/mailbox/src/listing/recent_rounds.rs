//! The newest rounds of a workflow, found without reading its history.
//!
//! `recent/W.json` lists some rounds of a workflow with many rounds: all that are not closed, and at least those that began last or
//! were closed last. Every program that makes a round's folder in `runs/W` does so by [`make_folder`], which adds the round to the list.
//!
//! The list is a hint, and it is checked before it is used. It names the change time of `runs/W` and the number of its folders. If another
//! program has made or removed a round's folder since, as an earlier version of askbox does, they differ. Then the names in `runs/W` and
//! the times of the files in `closed/` are read instead. A file of the list may be removed at any time. A round whose
//! document cannot be read stays in the list, because an operator may mend it.
//!
//! Readers never write the list, and it is not synced: after a power cut the times differ, or the file is torn.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::documents::question::QuestionDocument;
use crate::error::Result;
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::layout::{Folder, Mailbox};
use crate::listing::list;
use crate::time::Time;
use crate::{disk, document, read_question};

/// How many rounds the list keeps in each order: by their beginning, and by their end.
pub const KEPT: usize = 8;
/// The most rounds of a list. A workflow with as few rounds has no list.
const MOST: usize = 4 * KEPT;
/// The longest list that is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// The clock of file times may be behind the one that dates a document.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::seconds(1);

/// The newest rounds of a workflow.
#[derive(Debug)]
pub struct Recent {
    /// The rounds that are not closed, the rounds that began last, and those that were closed last. In no order.
    pub rounds: Vec<RoundId>,
    /// True if these are all rounds of the workflow that were claimed or closed.
    pub are_all: bool,
}

/// The list as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    schema_version: u32,
    runs: Stamp,
    rounds: Vec<QuestionId>,
}

/// Identifies the state of the folder `runs/W`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
    /// The number of names of folders in it, plus two. Some filesystems say 1 for every folder. A list of an earlier version says 0.
    #[serde(default)]
    links: u64,
}

impl Stamp {
    fn of(folder: &Path) -> Option<Self> {
        let meta = disk::metadata(folder).ok()?;
        Some(Self { inode: meta.ino(), seconds: meta.ctime(), nanoseconds: meta.ctime_nsec(), links: meta.nlink() })
    }

    /// True if the folder may hold more rounds than a list.
    fn may_be_many(&self) -> bool {
        self.links < 2 || self.links > MOST as u64 + 2
    }
}

/// The number of folders in `runs/W`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folders {
    /// Identifies the folder `runs/W`.
    pub inode: u64,
    /// One for each round, and one if the workflow has children.
    pub count: u64,
}

/// Returns how many folders lie in `runs/W`. `None` if it does not exist, or if its filesystem does not count them.
#[must_use]
pub fn folders(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Folders> {
    let stamp = Stamp::of(&mailbox.runs_of_workflow(workflow))?;
    Some(Folders { inode: stamp.inode, count: stamp.links.checked_sub(2)? })
}

/// The path of the list of a workflow.
#[must_use]
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.root().join("recent").join(workflow.file_name())
}

/// Makes the folder of a round in `runs/`, without a sync, and keeps the list of its workflow. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses the folder. The list may fail: readers do without it.
pub fn make_folder(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let runs = mailbox.runs_of_workflow(&round.workflow);
    let before = Stamp::of(&runs).filter(Stamp::may_be_many);
    disk::touch_folder(&mailbox.runs_of(round))?;
    if let Some(before) = before
        && let Some(now) = Stamp::of(&runs)
    {
        let _ = keep(mailbox, round, before, now);
    }
    Ok(())
}

/// Writes the list after the folder of `round` was made. `before` and `now` are the state of `runs/W` before and after that.
fn keep(mailbox: &Mailbox, round: &RoundId, before: Stamp, now: Stamp) -> Result<()> {
    let workflow = &round.workflow;
    let rounds = match read(mailbox, workflow).filter(|kept| kept.runs == before) {
        // A coarse clock may give two changes the same time.
        Some(kept) if now == before && kept.rounds.contains(&round.question) => return Ok(()),
        Some(kept) => {
            let mut rounds = of(workflow, kept.rounds);
            rounds.extend((!rounds.contains(round)).then(|| round.clone()));
            if rounds.len() <= MOST { rounds } else { newest_of(mailbox, rounds) }
        }
        None => {
            let all: Vec<RoundId> = list::rounds_of(mailbox, workflow).collect();
            if all.len() <= MOST {
                return Ok(());
            }
            newest_of(mailbox, all)
        }
    };
    let rounds = rounds.into_iter().map(|round| round.question).collect();
    let kept = Kept { schema_version: document::SCHEMA_VERSION, runs: now, rounds };
    let bytes = document::to_json(&kept)?;
    let path = path(mailbox, workflow);
    match disk::replace_unsynced(&path, &bytes, SystemTime::now()) {
        Err(e) if e.is_missing_file() => {
            disk::touch_folder(&mailbox.root().join("recent"))?;
            disk::replace_unsynced(&path, &bytes, SystemTime::now())
        }
        other => other,
    }
}

fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Kept> {
    document::json(&disk::read(&path(mailbox, workflow), LONGEST).ok()?)
}

fn of(workflow: &WorkflowId, questions: Vec<QuestionId>) -> Vec<RoundId> {
    questions.into_iter().map(|question| RoundId { workflow: workflow.clone(), question }).collect()
}

/// Returns the newest rounds of a workflow, from the list if that is up to date.
#[must_use]
pub fn recent(mailbox: &Mailbox, workflow: &WorkflowId) -> Recent {
    let runs = Stamp::of(&mailbox.runs_of_workflow(workflow));
    if let Some(now) = runs.filter(Stamp::may_be_many)
        && let Some(kept) = read(mailbox, workflow).filter(|kept| kept.runs == now)
    {
        return Recent { rounds: of(workflow, kept.rounds), are_all: false };
    }
    let all: Vec<RoundId> = list::rounds_of(mailbox, workflow).collect();
    if all.len() <= MOST {
        return Recent { rounds: all, are_all: true };
    }
    Recent { rounds: newest_of(mailbox, all), are_all: false }
}

/// Those of the rounds that are not closed, that began last, or that were closed last. A closed round whose document cannot be read may be
/// one of these.
fn newest_of(mailbox: &Mailbox, rounds: Vec<RoundId>) -> Vec<RoundId> {
    let (closed, mut others) = by_file_time(mailbox, rounds);
    let mut unreadable = |round: &RoundId| others.push(round.clone());
    let by_end = newest_closed(mailbox, &closed, KEPT, &mut unreadable, |_, end| end);
    let begun = |document: &QuestionDocument, end| document.typed.asked_at().unwrap_or(end);
    let by_beginning = newest_closed(mailbox, &closed, KEPT, &mut unreadable, begun);
    let newest = by_end.into_iter().chain(by_beginning).map(|(_, round, _)| round);
    let newest: HashSet<RoundId> = newest.chain(others).collect();
    newest.into_iter().collect()
}

/// The rounds whose file lies in `closed/`, with its time, the newest first; and the other ones.
fn by_file_time(mailbox: &Mailbox, rounds: Vec<RoundId>) -> (Vec<(Time, RoundId)>, Vec<RoundId>) {
    let (mut closed, mut others) = (Vec::new(), Vec::new());
    for round in rounds {
        let meta = disk::metadata(mailbox.round(Folder::Closed, &round)).ok();
        let changed = meta.and_then(|meta| Time::from_timestamp(meta.mtime(), u32::try_from(meta.mtime_nsec()).ok()?));
        match changed {
            Some(changed) => closed.push((changed, round)),
            None => others.push(round),
        }
    }
    closed.sort_unstable_by(|one, other| other.cmp(one));
    (closed, others)
}

/// A closed round with its time, which gives the order.
type Dated = (Time, RoundId, QuestionDocument);

/// The `wanted` closed rounds with the latest `date`, the latest first. `closed` are the rounds by the times of their files, the newest
/// first. A round's file is not older than its date, so the reading ends early.
fn newest_closed(
    mailbox: &Mailbox,
    closed: &[(Time, RoundId)],
    wanted: usize,
    unreadable: &mut dyn FnMut(&RoundId),
    date: impl Fn(&QuestionDocument, Time) -> Time,
) -> Vec<Dated> {
    let mut found: Vec<Dated> = Vec::new();
    for (changed, round) in closed {
        if found.get(wanted - 1).is_some_and(|(last, ..)| *last > *changed + CLOCKS_DIFFER) {
            break;
        }
        let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, round)) else {
            unreadable(round);
            continue;
        };
        let end = document.typed.closed.as_ref().map_or(Time::MAX_UTC, |closed| closed.at);
        let key = (date(&document, end), round);
        let place = found.partition_point(|(at, id, _)| (*at, id) > key);
        found.insert(place, (key.0, round.clone(), document));
        found.truncate(wanted);
    }
    found
}

/// Returns the rounds of a workflow that were closed last, the last one first, each with its document. Returns up to `wanted`, which is
/// at most [`KEPT`]. Documents that cannot be read are left out.
#[must_use]
pub fn closed_last(mailbox: &Mailbox, workflow: &WorkflowId, wanted: usize) -> Vec<(RoundId, QuestionDocument)> {
    let (closed, _) = by_file_time(mailbox, recent(mailbox, workflow).rounds);
    let newest = newest_closed(mailbox, &closed, wanted.clamp(1, KEPT), &mut |_| {}, |_, end| end);
    newest.into_iter().map(|(_, round, document)| (round, document)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::documents::fields::closing::{Closed, Closing};
    use crate::documents::question::Question;

    fn mailbox() -> (tempfile::TempDir, Mailbox, WorkflowId) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        (folder, mailbox, "w".parse().unwrap())
    }

    /// Puts a document into `closed/`: the round ended `minutes` after the beginning of time.
    fn close(mailbox: &Mailbox, round: &RoundId, minutes: i64) {
        let at = Time::from_timestamp(1_700_000_000 + 60 * minutes, 0).unwrap();
        let question = Question {
            question_id: Some(round.question),
            timestamp: Some(crate::time::rfc3339(at - chrono::TimeDelta::seconds(30))),
            closed: Some(Closing { state: Closed::Delivered, at, by: "test".into(), why: None }),
            ..Question::new(round.workflow.clone(), "Merge?")
        };
        let path = mailbox.round(Folder::Closed, round);
        disk::replace_unsynced(&path, &document::to_json(&question).unwrap(), at.into()).unwrap();
    }

    fn round(workflow: &WorkflowId) -> RoundId {
        RoundId { workflow: workflow.clone(), question: QuestionId::generate() }
    }

    /// As an earlier version makes it.
    fn make_folder_elsewhere(mailbox: &Mailbox, round: &RoundId) {
        // A change time has the resolution of the kernel's clock.
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::create_dir(mailbox.runs_of(round)).unwrap();
    }

    fn last(mailbox: &Mailbox, workflow: &WorkflowId) -> RoundId {
        closed_last(mailbox, workflow, 1).pop().unwrap().0
    }

    #[test]
    fn the_last_round_is_found_among_many_and_few_are_listed() {
        let (_folder, mailbox, workflow) = mailbox();
        let parked = round(&workflow);
        make_folder(&mailbox, &parked).unwrap();
        for n in 0..200 {
            let round = round(&workflow);
            make_folder(&mailbox, &round).unwrap();
            close(&mailbox, &round, n);
            assert_eq!(last(&mailbox, &workflow), round);
            let Recent { rounds, are_all } = recent(&mailbox, &workflow);
            assert!(rounds.len() <= MOST && rounds.contains(&parked) && are_all == (n < 31), "{n}: {} {are_all}", rounds.len());
        }
        assert!(read(&mailbox, &workflow).is_some());
        close(&mailbox, &parked, 300);
        assert_eq!(last(&mailbox, &workflow), parked);
    }

    #[test]
    fn a_list_that_another_program_outdated_is_not_used() {
        let (_folder, mailbox, workflow) = mailbox();
        let rounds: Vec<RoundId> = (0..100).map(|_| round(&workflow)).collect();
        for (n, round) in rounds.iter().enumerate() {
            make_folder(&mailbox, round).unwrap();
            close(&mailbox, round, n as i64);
        }
        let elsewhere = round(&workflow);
        make_folder_elsewhere(&mailbox, &elsewhere);
        close(&mailbox, &elsewhere, 500);
        assert_eq!(last(&mailbox, &workflow), elsewhere);
        let next = round(&workflow);
        make_folder(&mailbox, &next).unwrap();
        assert_eq!(last(&mailbox, &workflow), elsewhere, "the list was made anew");
        assert!(read(&mailbox, &workflow).is_some_and(|kept| kept.rounds.contains(&elsewhere.question)));
        // The file in the list is gone, and the list is damaged.
        std::fs::remove_file(mailbox.round(Folder::Closed, &elsewhere)).unwrap();
        assert_eq!(last(&mailbox, &workflow), rounds[99]);
        for damage in ["", "{", "[]", "{\"schema_version\":1,\"runs\":{\"inode\":1,\"seconds\":1,\"nanoseconds\":1},\"rounds\":[]}"] {
            std::fs::write(path(&mailbox, &workflow), damage).unwrap();
            assert_eq!(last(&mailbox, &workflow), rounds[99], "{damage}");
        }
    }

    #[test]
    fn a_late_answer_does_not_make_an_old_round_the_last_one() {
        let (_folder, mailbox, workflow) = mailbox();
        let rounds: Vec<RoundId> = (0..60).map(|_| round(&workflow)).collect();
        for (n, round) in rounds.iter().enumerate() {
            make_folder_elsewhere_at_once(&mailbox, round);
            close(&mailbox, round, n as i64);
        }
        // The files of forty old rounds have changed since, so their times say nothing.
        for round in &rounds[..40] {
            let path = mailbox.round(Folder::Closed, round);
            let bytes = std::fs::read(&path).unwrap();
            disk::replace_unsynced(&path, &bytes, SystemTime::now()).unwrap();
        }
        let found: Vec<RoundId> = closed_last(&mailbox, &workflow, 3).into_iter().map(|(round, _)| round).collect();
        assert_eq!(found, [rounds[59].clone(), rounds[58].clone(), rounds[57].clone()]);
    }

    fn make_folder_elsewhere_at_once(mailbox: &Mailbox, round: &RoundId) {
        std::fs::create_dir_all(mailbox.runs_of(round)).unwrap();
    }

    #[test]
    fn a_round_made_within_one_tick_of_the_clock_is_listed() {
        let (_folder, mailbox, workflow) = mailbox();
        for n in 0..100 {
            let round = round(&workflow);
            make_folder(&mailbox, &round).unwrap();
            close(&mailbox, &round, n);
        }
        // A kernel with a coarse clock gave the next folder the time that the list has already.
        let next = round(&workflow);
        std::fs::create_dir(mailbox.runs_of(&next)).unwrap();
        let now = Stamp::of(&mailbox.runs_of_workflow(&workflow)).unwrap();
        let kept = Kept { runs: now, ..read(&mailbox, &workflow).unwrap() };
        std::fs::write(path(&mailbox, &workflow), document::to_json(&kept).unwrap()).unwrap();
        keep(&mailbox, &next, now, now).unwrap();
        assert!(recent(&mailbox, &workflow).rounds.contains(&next));
        // One that another program made has no entry, but the number of folders tells.
        std::fs::create_dir(mailbox.runs_of(&round(&workflow))).unwrap();
        let later = Stamp::of(&mailbox.runs_of_workflow(&workflow)).unwrap();
        let kept = Kept { runs: Stamp { links: now.links, ..later }, ..read(&mailbox, &workflow).unwrap() };
        std::fs::write(path(&mailbox, &workflow), document::to_json(&kept).unwrap()).unwrap();
        assert_eq!(recent(&mailbox, &workflow).rounds.len(), 2 + KEPT, "the names are read, not the list");
    }

    #[test]
    fn a_round_whose_document_is_mended_is_found_again() {
        let (_folder, mailbox, workflow) = mailbox();
        let rounds: Vec<RoundId> = (0..40).map(|_| round(&workflow)).collect();
        for (n, round) in rounds.iter().enumerate() {
            make_folder_elsewhere_at_once(&mailbox, round);
            close(&mailbox, round, n as i64);
        }
        let newest = mailbox.round(Folder::Closed, &rounds[39]);
        let whole = std::fs::read(&newest).unwrap();
        std::fs::write(&newest, "{").unwrap();
        // The list is made without that document, and then shortened.
        for n in 0..2 * MOST {
            let next = round(&workflow);
            make_folder(&mailbox, &next).unwrap();
            close(&mailbox, &next, n as i64 - 1_000);
        }
        assert_eq!(last(&mailbox, &workflow), rounds[38]);
        std::fs::write(&newest, whole).unwrap();
        assert_eq!(last(&mailbox, &workflow), rounds[39]);
    }
}
