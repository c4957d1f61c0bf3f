//! The rounds that were answered or are over, the newest first. One scan reads names and times. A document is read only when its
//! turn comes.
//!
//! *Newest* means the round that changed last. For a closed round this is its file's modification time: the end of the round, or
//! its last late answer. For the others it is the last move of the file. Rounds with the same time come in the order of their ids,
//! because askbox makes an id from the time.
//!
//! If the caller wants few rounds, their names come from the list of the rounds that were closed last (`closings`), if that has enough. Else,
//! if one workflow is asked for, only its names in `runs/` and the small folders are listed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::listing::closings::{self, Closed};
use crate::listing::newest_first::NewestFirst;
use crate::{Folder, Mailbox, QuestionId, Result, Round, RoundId, Time, WorkflowId, disk, list, read_question, round};

/// The folders that may hold such a round, in the order of a round's moves.
const PLACES: [Folder; 4] = [Folder::Answered, Folder::Running, Folder::Parked, Folder::Closed];

/// How many more closed rounds are looked at than are wanted: two that ended at the same moment may come in either order.
const MORE: usize = 32;

/// A round, as far as its file's name and time show it. Rounds are ordered by the fields in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PastRound {
    /// When the round changed last.
    pub changed: Time,
    question: QuestionId,
    workflow: WorkflowId,
    place: usize,
}

impl PastRound {
    /// The round's id.
    pub fn id(&self) -> RoundId {
        RoundId { workflow: self.workflow.clone(), question: self.question }
    }

    /// The path of the file as it was found. The file may have moved since.
    pub fn path(&self, mailbox: &Mailbox) -> PathBuf {
        round::path(mailbox, PLACES[self.place], &self.id())
    }

    /// Reads the round's document. Returns `None` if the round no longer exists: it was pruned, or its answer was taken back.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) or [`Error::Newer`](crate::error::Error::Newer) if the document cannot be
    /// used. [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn read(&self, mailbox: &Mailbox) -> Result<Option<Round>> {
        // The round may have moved on since it was found.
        for folder in PLACES.into_iter().skip(self.place) {
            let id = self.id();
            match read_question::of_round(&round::path(mailbox, folder, &id), &id) {
                Err(e) if e.is_missing_file() => {}
                other => return other.map(|document| Some(Round { folder, id, document })),
            }
        }
        Ok(None)
    }
}

/// Returns the rounds of one workflow, or of all, that changed at or after `since`, the newest first. `wanted` is about how many
/// the caller will use; `None` if it may use all. An item is an error if a folder cannot be read.
pub fn newest_first<'a>(
    mailbox: &'a Mailbox,
    workflow: Option<&'a WorkflowId>,
    since: Option<Time>,
    wanted: Option<usize>,
) -> impl Iterator<Item = Result<PastRound>> + 'a {
    let mut is_first = true;
    NewestFirst::new(wanted, move |offer: &mut dyn FnMut(PastRound)| {
        let mut offer = |round: PastRound| {
            if since.is_none_or(|since| round.changed >= since) {
                offer(round);
            }
        };
        // The folders are read in the order of a round's moves. So a round that moves during the scan is found at least once, and
        // its last place counts.
        let mut moving: HashMap<RoundId, PastRound> = HashMap::new();
        for (place, folder) in PLACES.into_iter().enumerate().filter(|(_, folder)| *folder != Folder::Closed) {
            let found = rounds_in(mailbox, folder, workflow)?;
            moving.extend(found.into_iter().filter_map(|id| Some((id.clone(), look(mailbox, place, id)?))));
        }
        let mut closed = |round: PastRound| {
            moving.remove(&round.id());
            offer(round);
        };
        let look_at_closed = |id| look(mailbox, PLACES.len() - 1, id);
        let few = wanted.filter(|_| std::mem::take(&mut is_first));
        let is_meant = |id: &RoundId| workflow.is_none_or(|workflow| id.workflow == *workflow);
        let look_at_meant = |id| Some(id).filter(is_meant).and_then(look_at_closed);
        match (workflow, few.and_then(|wanted| closings::newest(mailbox, wanted.saturating_add(MORE), look_at_meant))) {
            (_, Some((_, last))) => last.into_iter().for_each(&mut closed),
            (Some(workflow), None) => list::rounds_of(mailbox, workflow).filter_map(look_at_closed).for_each(&mut closed),
            (None, None) => drop(each_closed(mailbox, wanted, &mut closed)?),
        }
        moving.into_values().for_each(offer);
        Ok(())
    })
}

/// Returns the number of closed rounds, and up to `wanted` of those that were closed or changed last, the newest first. `wanted` is at most
/// [`closings::KEPT`] less a few.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if `closed/` cannot be read.
pub fn closed_last(mailbox: &Mailbox, wanted: usize) -> Result<Closed> {
    let mut closed = match closings::newest(mailbox, wanted, |id| look(mailbox, PLACES.len() - 1, id).map(|round| round.id())) {
        Some((count, newest)) => Closed { count, newest },
        None => each_closed(mailbox, Some(wanted), &mut |_| {})?,
    };
    closed.newest.truncate(wanted);
    Ok(closed)
}

/// Lists `closed/`. A caller that wants few rounds probably comes again, so this makes the list of the rounds that were closed last, and
/// returns them.
fn each_closed(mailbox: &Mailbox, wanted: Option<usize>, take: &mut dyn FnMut(PastRound)) -> Result<Closed> {
    let makes_list = wanted.is_some_and(|wanted| wanted.saturating_add(MORE) <= closings::KEPT);
    let listing = makes_list.then(|| closings::Listing::begin(mailbox));
    let (mut newest, mut count) = (BinaryHeap::new(), 0);
    for id in list::each_round(mailbox, Folder::Closed)? {
        let Some(round) = look(mailbox, PLACES.len() - 1, id?) else { continue };
        count += 1;
        if makes_list {
            newest.push(Reverse(round.clone()));
            if newest.len() > closings::KEPT {
                newest.pop();
            }
        }
        take(round);
    }
    let newest = newest.into_sorted_vec().into_iter().map(|Reverse(round)| round.id()).collect();
    let closed = Closed { count, newest };
    if let Some(listing) = listing {
        listing.end(mailbox, &closed);
    }
    Ok(closed)
}

/// Returns the rounds in `answered/`, `running/` or `parked/`.
fn rounds_in(mailbox: &Mailbox, folder: Folder, workflow: Option<&WorkflowId>) -> Result<Vec<RoundId>> {
    if folder != Folder::Answered {
        let ids = list::each_round(mailbox, folder)?;
        return ids.filter(|id| id.as_ref().map_or(true, |id| workflow.is_none_or(|w| id.workflow == *w))).collect();
    }
    let workflows = match workflow {
        Some(workflow) => vec![workflow.clone()],
        None => list::workflows(mailbox, folder)?,
    };
    let answered = |workflow: WorkflowId| {
        let document = read_question::document(&mailbox.document(folder, &workflow)).ok()?;
        document.typed.answer.as_ref()?;
        round::round_of(mailbox, &document.typed).ok()
    };
    Ok(workflows.into_iter().filter_map(answered).collect())
}

/// Returns the round as its file shows it; `None` if the file does not exist.
fn look(mailbox: &Mailbox, place: usize, id: RoundId) -> Option<PastRound> {
    let folder = PLACES[place];
    let meta = disk::metadata(round::path(mailbox, folder, &id)).ok()?;
    // A move changes the inode's time. A closed round uses the file's time, which a copy of the mailbox keeps.
    let (seconds, nanos) = if folder == Folder::Closed { (meta.mtime(), meta.mtime_nsec()) } else { (meta.ctime(), meta.ctime_nsec()) };
    let changed = Time::from_timestamp(seconds, u32::try_from(nanos).ok()?)?;
    Some(PastRound { changed, question: id.question, workflow: id.workflow, place })
}
