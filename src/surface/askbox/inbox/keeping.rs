//! Drafts go to the disk while they are made: when typing pauses, and when their question is left. A terminal that is killed takes at most
//! the last words away.

use std::time::{Duration, Instant};

use crate::surface::askbox::inbox::app::{App, Place};
use crate::surface::askbox::inbox::question::kept::{self, Kept, Unkept};
use crate::surface::askbox::inbox::sender;
use crate::surface::askbox::inbox::sender::shown::RoundAt;

/// How long typing pauses before a draft is written, and how long one is not written while somebody types on.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);

impl App<'_> {
    /// A key or a paste may have changed the open question's draft.
    pub fn typed(&mut self) {
        if let Some((at, draft)) = self.open_draft()
            && !self.is_on_disk(&at, draft.as_ref())
        {
            self.draft_changed();
        }
    }

    pub(super) fn draft_changed(&mut self) {
        let now = Instant::now();
        self.unkept = Some(Unkept { since: self.unkept.as_ref().map_or(now, |unkept| unkept.since), last: now });
    }

    /// When [`Self::keep_drafts`] has something to do.
    pub fn keeps_at(&self) -> Option<Instant> {
        self.unkept.as_ref().map(|unkept| (unkept.last + PAUSE).min(unkept.since + LONGEST))
    }

    /// Writes the drafts that have changed. A draft that was emptied is removed if it came from here.
    pub fn keep_drafts(&mut self) {
        self.unkept = None;
        let mut now: Vec<(RoundAt, Option<Kept>)> = self.drafts.iter().map(|(at, draft)| (at.clone(), Kept::of(at, draft, None))).collect();
        now.extend(self.open_draft());
        for (at, draft) in now {
            match draft {
                _ if self.is_on_disk(&at, draft.as_ref()) => {}
                None => self.forget(&at),
                Some(draft) => match draft.keep() {
                    Ok(_) => drop(self.on_disk.insert(at, draft)),
                    Err(e) => self.said = format!("your draft cannot be kept: {}", sender::in_one_line(e)),
                },
            }
        }
    }

    /// What is to be kept of the open question, with the text that is asked for.
    fn open_draft(&self) -> Option<(RoundAt, Option<Kept>)> {
        let Place::Question(opened) = &self.place else { return None };
        Some((opened.shown.at(), Kept::of(&opened.shown.at(), &opened.draft, self.asked.as_ref())))
    }

    fn is_on_disk(&self, at: &RoundAt, draft: Option<&Kept>) -> bool {
        match (self.on_disk.get(at), draft) {
            (Some(there), Some(draft)) => there.is_same(draft),
            (there, draft) => there.is_none() && draft.is_none(),
        }
    }

    /// The draft of this round is no longer one.
    pub(super) fn forget(&mut self, at: &RoundAt) {
        self.on_disk.remove(at);
        kept::forget(at);
    }
}
