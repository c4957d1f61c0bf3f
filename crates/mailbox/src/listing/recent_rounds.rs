//! The newest rounds of a workflow, found without reading its history.
//!
//! `recent/W.json` is a [derived file](crate::derived) of the folder `runs/W`. It lists some rounds of a workflow with many rounds: all
//! that are not closed, those that began last or were closed last, and the last one that had a run. Every program that makes a round's
//! folder in `runs/W` does so by [`make_folder`], which adds the round to the list. A program that finds no list that counts reads the
//! names in `runs/W` and the times of the files in `closed/`, and writes the list.
//!
//! A round whose document cannot be read stays in the list, because an operator may mend it.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::derived::{self, Derived, FolderState};
use crate::{Folder, Mailbox, QuestionDocument, QuestionId, Result, RoundId, Time, WorkflowId, disk, list, read_question};

/// How many rounds the list keeps in each order: by their beginning, and by their end.
pub const KEPT: usize = 8;
/// The most rounds of a list. A workflow with as few rounds has no list.
const MOST: usize = 4 * KEPT;

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
struct Listed {
    rounds: Vec<QuestionId>,
}

impl Derived for Listed {
    type Source = FolderState;
    const LONGEST: u64 = 64 << 10;
}

/// The path of the list of a workflow.
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.root().join("recent").join(workflow.file_name())
}

/// The state of `runs/W`. `None` if it holds no more rounds than a list.
fn state_of_many(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<FolderState> {
    FolderState::of(&mailbox.runs_of_workflow(workflow)).filter(|state| state.folders().is_none_or(|folders| folders > MOST as u64))
}

fn listed(mailbox: &Mailbox, workflow: &WorkflowId, state: &FolderState) -> Option<Vec<RoundId>> {
    let Listed { rounds } = derived::read_of(&path(mailbox, workflow), state)?;
    Some(rounds.into_iter().map(|question| RoundId { workflow: workflow.clone(), question }).collect())
}

fn keep(mailbox: &Mailbox, workflow: &WorkflowId, state: &FolderState, rounds: &[RoundId]) {
    let rounds = rounds.iter().map(|round| round.question).collect();
    derived::write(&path(mailbox, workflow), state, &Listed { rounds });
}

/// Makes the folder of a round in `runs/`, without a sync, and keeps the list of its workflow. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses the folder.
pub fn make_folder(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let before = state_of_many(mailbox, &round.workflow);
    disk::touch_folder(&mailbox.runs_of(round))?;
    if let Some((before, now)) = before.zip(state_of_many(mailbox, &round.workflow)) {
        add(mailbox, round, before, now);
    }
    Ok(())
}

/// Adds a round whose folder was made. `before` and `now` are the states of `runs/W` before and after that.
fn add(mailbox: &Mailbox, round: &RoundId, before: FolderState, now: FolderState) {
    let workflow = &round.workflow;
    let rounds = match listed(mailbox, workflow, &before) {
        // The folder was there already.
        Some(rounds) if now == before && rounds.contains(round) => return,
        Some(mut rounds) => {
            rounds.extend((!rounds.contains(round)).then(|| round.clone()));
            if rounds.len() <= MOST { rounds } else { newest_of(mailbox, rounds) }
        }
        None => match read_all(mailbox, workflow) {
            Recent { are_all: true, .. } => return,
            Recent { rounds, .. } => rounds,
        },
    };
    keep(mailbox, workflow, &now, &rounds);
}

/// Returns the newest rounds of a workflow, from the list if it counts. Otherwise makes the list.
pub fn recent(mailbox: &Mailbox, workflow: &WorkflowId) -> Recent {
    let state = state_of_many(mailbox, workflow);
    if let Some(rounds) = state.and_then(|state| listed(mailbox, workflow, &state)) {
        return Recent { rounds, are_all: false };
    }
    let recent = read_all(mailbox, workflow);
    // Without the workflow's lock, another program may have made a folder during the reading.
    if let Some(state) = state.filter(|state| !recent.are_all && state.is_settled() && state_of_many(mailbox, workflow) == Some(*state)) {
        keep(mailbox, workflow, &state, &recent.rounds);
    }
    recent
}

fn read_all(mailbox: &Mailbox, workflow: &WorkflowId) -> Recent {
    let all: Vec<RoundId> = list::rounds_of(mailbox, workflow).collect();
    let are_all = all.len() <= MOST;
    Recent { rounds: if are_all { all } else { newest_of(mailbox, all) }, are_all }
}

/// Those of the rounds that are not closed, that began last, or that were closed last, and the last one that had a run. A closed round whose
/// document cannot be read may be one of these.
fn newest_of(mailbox: &Mailbox, rounds: Vec<RoundId>) -> Vec<RoundId> {
    let (closed, mut others) = by_file_time(mailbox, rounds);
    let mut unreadable = |round: &RoundId| others.push(round.clone());
    let by_end = newest_closed(mailbox, &closed, KEPT, &mut unreadable, |_, end| end);
    let begun = |document: &QuestionDocument, end| document.typed.asked_at().unwrap_or(end);
    let by_beginning = newest_closed(mailbox, &closed, KEPT, &mut unreadable, begun);
    let had_run = closed.iter().filter(|(_, round)| disk::exists(mailbox.runs_of(round).join("1/run.json")));
    let last_run = newest_closed(mailbox, had_run, 1, &mut |_| {}, |_, end| end);
    let newest = by_end.into_iter().chain(by_beginning).chain(last_run).map(|(_, round, _)| round);
    let newest: HashSet<RoundId> = newest.chain(others).collect();
    newest.into_iter().collect()
}

/// The rounds whose file lies in `closed/`, with its time, the newest first; and the other ones.
fn by_file_time(mailbox: &Mailbox, rounds: Vec<RoundId>) -> (Vec<(Time, RoundId)>, Vec<RoundId>) {
    let (mut closed, mut others) = (Vec::new(), Vec::new());
    for round in rounds {
        let meta = disk::metadata(mailbox.round(Folder::Closed, &round)).ok();
        let changed = meta.and_then(|meta| Time::from_timestamp(meta.mtime(), u32::try_from(meta.mtime_nsec()).ok()?));
        if let Some(changed) = changed { closed.push((changed, round)) } else { others.push(round) }
    }
    closed.sort_unstable_by(|one, other| other.cmp(one));
    (closed, others)
}

/// A closed round with its time, which gives the order.
type Dated = (Time, RoundId, QuestionDocument);

/// The `wanted` closed rounds with the latest `date`, the latest first. `closed` are the rounds by the times of their files, the newest
/// first. A round's file is not older than its date, so the reading ends early.
fn newest_closed<'a>(
    mailbox: &Mailbox,
    closed: impl IntoIterator<Item = &'a (Time, RoundId)>,
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

/// Returns the rounds of a workflow that were closed last, the last one first, each with its document. Returns up to `wanted`. The rounds
/// after the first [`KEPT`] are only those in the list. Documents that cannot be read are left out.
pub fn closed_last(mailbox: &Mailbox, workflow: &WorkflowId, wanted: usize) -> Vec<(RoundId, QuestionDocument)> {
    let (closed, _) = by_file_time(mailbox, recent(mailbox, workflow).rounds);
    let newest = newest_closed(mailbox, &closed, wanted.max(1), &mut |_| {}, |_, end| end);
    newest.into_iter().map(|(_, round, document)| (round, document)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::time::SystemTime;

    use crate::document;
    use crate::documents::closing::{Closed, Closing};
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

    /// The rounds in the list, whether it is still valid or not.
    fn kept(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Vec<RoundId>> {
        let (state, _) = derived::read::<Listed>(&path(mailbox, workflow))?;
        listed(mailbox, workflow, &state)
    }

    fn last(mailbox: &Mailbox, workflow: &WorkflowId) -> RoundId {
        closed_last(mailbox, workflow, 1).pop().unwrap().0
    }

    #[test]
    fn the_last_round_is_found_among_many_and_few_are_listed() {
        let (_folder, mailbox, workflow) = mailbox();
        let (parked, had_run) = (round(&workflow), round(&workflow));
        make_folder(&mailbox, &parked).unwrap();
        make_folder(&mailbox, &had_run).unwrap();
        close(&mailbox, &had_run, -1);
        std::fs::create_dir(mailbox.runs_of(&had_run).join("1")).unwrap();
        std::fs::write(mailbox.runs_of(&had_run).join("1/run.json"), "{}").unwrap();
        for n in 0..200 {
            let round = round(&workflow);
            make_folder(&mailbox, &round).unwrap();
            close(&mailbox, &round, n);
            assert_eq!(last(&mailbox, &workflow), round);
            let Recent { rounds, are_all } = recent(&mailbox, &workflow);
            assert!(rounds.contains(&parked) && rounds.contains(&had_run), "{n}");
            assert!(rounds.len() <= MOST && are_all == (n < 30), "{n}: {} {are_all}", rounds.len());
        }
        assert!(kept(&mailbox, &workflow).is_some());
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
        assert!(kept(&mailbox, &workflow).is_some_and(|kept| kept.contains(&elsewhere)));
        // The file in the list is gone, and the list is damaged.
        std::fs::remove_file(mailbox.round(Folder::Closed, &elsewhere)).unwrap();
        assert_eq!(last(&mailbox, &workflow), rounds[99]);
        for damage in
            ["", "{", "[]", "{\"schema_version\":1,\"source\":{\"inode\":1,\"seconds\":1,\"nanoseconds\":1,\"links\":1},\"rounds\":[]}"]
        {
            std::fs::write(path(&mailbox, &workflow), damage).unwrap();
            assert_eq!(last(&mailbox, &workflow), rounds[99], "{damage}");
        }
    }

    #[test]
    fn a_reader_makes_the_list_that_is_missing() {
        let (_folder, mailbox, workflow) = mailbox();
        for n in 0..60 {
            let round = round(&workflow);
            make_folder_elsewhere_at_once(&mailbox, &round);
            close(&mailbox, &round, n);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        let Recent { rounds, .. } = recent(&mailbox, &workflow);
        assert_eq!(kept(&mailbox, &workflow).as_ref(), Some(&rounds));
        let next = round(&workflow);
        make_folder_elsewhere(&mailbox, &next);
        assert!(recent(&mailbox, &workflow).rounds.contains(&next));
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
        let now = state_of_many(&mailbox, &workflow).unwrap();
        keep(&mailbox, &workflow, &now, &kept(&mailbox, &workflow).unwrap());
        add(&mailbox, &next, now, now);
        assert!(recent(&mailbox, &workflow).rounds.contains(&next));
        // One that another program made has no entry, but the number of folders tells.
        std::fs::create_dir(mailbox.runs_of(&round(&workflow))).unwrap();
        let mut coarse = state_of_many(&mailbox, &workflow).unwrap();
        coarse.links = now.links;
        keep(&mailbox, &workflow, &coarse, &kept(&mailbox, &workflow).unwrap());
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
