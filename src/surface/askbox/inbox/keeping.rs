//! The drafts of questions that are not open, and those that vanished. Drafts go to the disk while they are made: when typing pauses, and when
//! their question is left. A terminal that is killed takes at most the last words away.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::mailbox::Question;
use crate::surface::askbox::inbox::question::draft::Draft;
use crate::surface::askbox::inbox::question::kept::{self, Kept};
use crate::surface::askbox::inbox::sender;
use crate::surface::askbox::inbox::sender::shown::RoundAt;
use crate::time::Time;

/// How long typing pauses before a draft is written, and how long one is not written while somebody types on.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);

/// The draft of the open question as it is to be kept; `None` beside a round if there is nothing to keep.
pub type Open = Option<(RoundAt, Option<Kept>)>;

/// The drafts.
#[derive(Debug, Default)]
pub struct Keeping {
    drafts: HashMap<RoundAt, Draft>,
    /// The drafts that lie on the disk, as far as they come from here.
    on_disk: HashMap<RoundAt, Kept>,
    unkept: Option<Unkept>,
    /// Drafts of questions that vanished, and that were not kept.
    lost: Vec<Kept>,
}

/// Since when drafts are not on the disk, and when they changed last.
#[derive(Debug)]
struct Unkept {
    since: Instant,
    last: Instant,
}

impl Keeping {
    /// A question is left.
    pub fn put(&mut self, at: RoundAt, draft: Draft) {
        self.drafts.insert(at, draft);
    }

    /// An answer was taken back: it is the draft again.
    pub fn put_again(&mut self, at: RoundAt, draft: Draft) {
        self.put(at, draft);
        self.changed();
    }

    /// An answer does not count: it is the draft again, unless another one was begun.
    pub fn put_if_none(&mut self, at: RoundAt, draft: Draft) {
        self.drafts.entry(at).or_insert(draft);
        self.changed();
    }

    /// A question is opened.
    pub fn take(&mut self, at: &RoundAt) -> Option<Draft> {
        self.drafts.remove(at)
    }

    /// The draft that lies on the disk, and since when.
    pub fn find(&mut self, at: &RoundAt, question: &Question) -> Option<(Draft, Time)> {
        let (draft, kept) = Kept::find(at, question)?;
        let kept_at = kept.kept_at;
        self.on_disk.insert(at.clone(), kept);
        Some((draft, kept_at))
    }

    /// The question of this draft vanished.
    pub fn lose(&mut self, kept: Option<Kept>) {
        self.lost.extend(kept);
    }

    /// A key or a paste may have changed the open question's draft.
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

    /// When [`Self::keep`] has something to do.
    pub fn keeps_at(&self) -> Option<Instant> {
        self.unkept.as_ref().map(|unkept| (unkept.last + PAUSE).min(unkept.since + LONGEST))
    }

    /// Writes the drafts that have changed. A draft that was emptied is removed if it came from here.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn keep(&mut self, open: Open) -> Result<(), String> {
        self.unkept = None;
        let now = self.drafts.iter().map(|(at, draft)| (at.clone(), Kept::of(at, draft, None)));
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

    fn is_on_disk(&self, at: &RoundAt, draft: Option<&Kept>) -> bool {
        match (self.on_disk.get(at), draft) {
            (Some(there), Some(draft)) => there.is_same(draft),
            (there, draft) => there.is_none() && draft.is_none(),
        }
    }

    /// The draft of this round is no longer one.
    pub fn forget(&mut self, at: &RoundAt) {
        self.on_disk.remove(at);
        kept::forget(at);
    }

    /// An answer is accepted. A draft that was begun anew since stays.
    pub fn accepted(&mut self, at: &RoundAt) {
        if !self.drafts.contains_key(at) {
            self.forget(at);
        }
    }

    /// Every draft that was not sent. Called once, when the inbox is left.
    pub fn unsent(&mut self) -> Vec<Kept> {
        let (mut unsent, mut emptied) = (std::mem::take(&mut self.lost), Vec::new());
        for (at, draft) in self.drafts.drain() {
            match Kept::of(&at, &draft, None) {
                Some(kept) => unsent.push(kept),
                None if self.on_disk.contains_key(&at) => emptied.push(at),
                None => {}
            }
        }
        emptied.iter().for_each(|at| self.forget(at));
        unsent
    }
}
