//! The events that questions wait for: a time, or a file. See [`crate::mailbox::transitions::expire`].

use crate::disk::file_events::Hint;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::documents::fields::until::Until;
use crate::mailbox::due::event::SLOW;
use crate::mailbox::due::timers::{Due, Timer};
use crate::mailbox::transitions::expire::{self, Expiry};
use crate::mailbox::{read_question, round};
use crate::time::Time;
use crate::watch::look::due_dates::After;
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Answers the question if its time has come, or looks for its file.
    pub(super) fn look_for_event(&mut self, timer: &Timer) -> Result<After> {
        match self.awaited_event(&timer.round)? {
            Some(Until::File(path)) => {
                self.awaited_files.add(&timer.round, &path, !self.poll);
                self.awaited_files.look(timer).map(|_| After::GoesOn)
            }
            Some(Until::At(_)) => self.expire(timer),
            None => {
                self.awaited_files.forget(&timer.round);
                Ok(After::Over)
            }
        }
    }

    fn awaited_event(&self, round: &RoundId) -> Result<Option<Until>> {
        let document = match read_question::pending(&self.mailbox, &round.workflow) {
            Ok(document) => document,
            Err(e) if e.is_missing_file() => return Ok(None),
            Err(e) => return Err(e),
        };
        let is_same = round::of_pending(&self.mailbox, &document.typed)? == *round;
        Ok(document.typed.asked.until.filter(|_| is_same))
    }

    /// Applies the date of a question. If that waits for a file, the file is looked at first: it may have come while no watcher ran.
    pub(super) fn expire_after_look(&mut self, timer: &Timer) -> Result<After> {
        if self.awaited_files.of(&timer.round).is_none() || !self.awaited_files.look(timer)? {
            return self.expire(timer);
        }
        self.try_again(timer.clone(), SLOW);
        Ok(After::GoesOn)
    }

    /// A look has ended that `timer` began.
    pub(in crate::watch) fn apply_look(&mut self, timer: Timer, there: bool) {
        // While threads are short, the next look around tries again.
        let _ = self.awaited_files.ended(&timer).inspect_err(crate::log::error);
        let Some(path) = self.awaited_files.of(&timer.round).map(std::path::Path::to_path_buf) else { return };
        if timer.due == Due::Expire {
            // What `expire_after_look` left for the case that the look does not end.
            self.timers.retain(|t| t.due != Due::Expire || t.round != timer.round);
        }
        let done = match (there, timer.due) {
            (true, _) => match expire::come(&self.mailbox, &timer.round, &Until::File(path)) {
                // The question is over, or waits for another file by now.
                Ok(Expiry::Nothing) => {
                    self.timers.insert(always_due(timer.round.clone()));
                    Ok(After::GoesOn)
                }
                came => came.map(|expiry| self.note(&timer, expiry)),
            },
            (false, Due::Expire) => self.expire(&timer),
            (false, _) => Ok(After::GoesOn),
        };
        self.end_timer(timer, done);
    }

    /// Something may have happened to a file that questions wait for.
    pub(in crate::watch) fn look_for_files(&mut self, hint: &Hint) {
        match hint {
            Hint::At(path) => {
                self.timers.extend(self.awaited_files.rounds_of(path).into_iter().map(always_due));
            }
            Hint::Anywhere => self.look_at_everything(false, false),
        }
    }
}

fn always_due(round: RoundId) -> Timer {
    Timer { at: Time::UNIX_EPOCH, due: Due::Until, round }
}
