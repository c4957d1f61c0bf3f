//! The drafts of questions that are not open, and of questions that vanished. A draft is written to disk when typing pauses and when its
//! question is left. If the terminal is killed, at most the last words are lost.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::question::draft::Draft;
use crate::question::kept_drafts::{self, KeptDraft};
use crate::sender;
use askbox_mailbox::{Question, RoundAt, Time};

/// A draft is written after this pause in typing. If the typing does not pause, it is written after `LONGEST`.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);

/// The open question, with what is to be stored of the answer that is being written to it. The inner `None` means that there is nothing
/// to store.
pub type Open = Option<(RoundAt, Option<KeptDraft>)>;

/// The drafts.
#[derive(Debug, Default)]
pub struct Keeping {
    pub drafts: HashMap<RoundAt, Draft>,
    /// The drafts on disk that were written or read here.
    on_disk: HashMap<RoundAt, KeptDraft>,
    unkept: Option<Unkept>,
    /// The drafts of vanished questions that were not stored.
    pub lost: Vec<KeptDraft>,
}

/// The time since which drafts are not on disk, and the time of the last change.
#[derive(Debug)]
struct Unkept {
    since: Instant,
    last: Instant,
}

impl Keeping {
    /// Makes an answer that was taken back the draft again.
    pub fn put_again(&mut self, at: RoundAt, draft: Draft) {
        self.drafts.insert(at, draft);
        self.changed();
    }

    /// Makes an answer that does not count the draft again, unless another draft was begun.
    pub fn put_if_none(&mut self, at: RoundAt, draft: Draft) {
        self.drafts.entry(at).or_insert(draft);
        self.changed();
    }

    /// The draft on disk, and the time since when it is there.
    pub fn find(&mut self, at: &RoundAt, question: &Question) -> Option<(Draft, Time)> {
        let (draft, kept) = KeptDraft::find(at, question)?;
        let kept_at = kept.kept_at;
        self.on_disk.insert(at.clone(), kept);
        Some((draft, kept_at))
    }

    /// The words of the draft for a round, or `None` if there is no draft. `question` is called only if a draft may be on disk.
    pub fn words(&self, at: &RoundAt, question: impl FnOnce() -> Option<Question>) -> Option<String> {
        let words = |draft: &Draft| draft.typed().or_else(|| KeptDraft::from_draft(at, draft, None).map(|_| "options".into()));
        match self.drafts.get(at) {
            Some(draft) => words(draft),
            None if kept_drafts::is_kept(at) => words(&KeptDraft::find(at, &question()?)?.0),
            None => None,
        }
    }

    /// Notes that a key or a paste may have changed the open question's draft.
    pub fn typed(&mut self, open: Open) {
        if let Some((at, draft)) = open
            && !self.is_on_disk(&at, draft.as_ref())
        {
            self.changed();
        }
    }

    fn changed(&mut self) {
        let now = Instant::now();
        self.unkept = Some(Unkept { since: self.unkept.as_ref().map_or(now, |unkept| unkept.since), last: now });
    }

    /// The time when [`Self::keep`] has work to do.
    pub fn keeps_at(&self) -> Option<Instant> {
        self.unkept.as_ref().map(|unkept| (unkept.last + PAUSE).min(unkept.since + LONGEST))
    }

    /// Writes the drafts that have changed. Removes the file of a draft that is now empty, if it came from here.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn keep(&mut self, open: Open) -> Result<(), String> {
        self.unkept = None;
        let now = self.drafts.iter().map(|(at, draft)| (at.clone(), KeptDraft::from_draft(at, draft, None)));
        let mut result = Ok(());
        for (at, draft) in now.chain(open).collect::<Vec<_>>() {
            match draft {
                _ if self.is_on_disk(&at, draft.as_ref()) => {}
                None => self.forget(&at),
                Some(draft) => match draft.keep() {
                    Ok(_) => drop(self.on_disk.insert(at, draft)),
                    Err(e) => result = Err(format!("your draft cannot be kept: {}", sender::in_one_line(e))),
                },
            }
        }
        result
    }

    fn is_on_disk(&self, at: &RoundAt, draft: Option<&KeptDraft>) -> bool {
        match (self.on_disk.get(at), draft) {
            (Some(there), Some(draft)) => there.is_same(draft),
            (there, draft) => there.is_none() && draft.is_none(),
        }
    }

    /// Removes the draft of this round from disk.
    pub fn forget(&mut self, at: &RoundAt) {
        self.on_disk.remove(at);
        kept_drafts::forget(at);
    }

    /// Removes the draft of an accepted answer. If the person has begun a new draft since, that one stays.
    pub fn accepted(&mut self, at: &RoundAt) {
        if !self.drafts.contains_key(at) {
            self.forget(at);
        }
    }

    /// All drafts that were not sent. Called once, when the inbox is left.
    pub fn unsent(&mut self) -> Vec<KeptDraft> {
        let (mut unsent, mut emptied) = (std::mem::take(&mut self.lost), Vec::new());
        for (at, draft) in self.drafts.drain() {
            match KeptDraft::from_draft(&at, &draft, None) {
                Some(kept) => unsent.push(kept),
                None if self.on_disk.contains_key(&at) => emptied.push(at),
                None => {}
            }
        }
        emptied.iter().for_each(|at| self.forget(at));
        unsent
    }
}
