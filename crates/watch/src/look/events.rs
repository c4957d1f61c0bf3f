//! The events that questions wait for: a time, or a file. See [`askbox_mailbox::transitions::expire`].

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::Sender;

use crate::dates::Dates;
use crate::look::awaited_files::AwaitedFiles;
use crate::look::overdue::{After, Dues};
use crate::messages::WatchMessage;
use askbox_mailbox::due::event::SLOW;
use askbox_mailbox::transitions::expire::{self, Expiry};
use askbox_mailbox::{Due, Mailbox, Result, RoundId, Time, Timer, Until, disk, read_question, round};

/// The events that questions wait for.
pub(crate) struct Events {
    awaited_files: AwaitedFiles,
    /// True if file events report the files.
    with_file_events: bool,
}

impl Events {
    pub(crate) fn new(sender: Sender<WatchMessage>, with_file_events: bool) -> Self {
        Self { awaited_files: AwaitedFiles::new(sender), with_file_events }
    }

    /// Keeps only these rounds: no other rounds wait for an event.
    pub(crate) fn keep_only(&mut self, rounds: &HashSet<&RoundId>) {
        self.awaited_files.keep_only(rounds);
    }

    /// Answers the question if its time has come, or looks for its file.
    pub(super) fn look_for(&mut self, dues: &mut Dues<'_>, timer: &Timer) -> Result<After> {
        match awaited(&dues.served.mailbox, &timer.round)? {
            Some(Until::File(path)) => {
                self.awaited_files.add(&timer.round, &path, self.with_file_events);
                self.awaited_files.look(timer).map(|_| After::GoesOn)
            }
            Some(Until::At(_)) => dues.expire(timer),
            None => {
                self.awaited_files.forget(&timer.round);
                Ok(After::Over)
            }
        }
    }

    /// Applies the date of a question. If the question waits for a file, the file is looked at first, because it may have come while no
    /// watcher ran.
    pub(super) fn expire_after_look(&mut self, dues: &mut Dues<'_>, timer: &Timer) -> Result<After> {
        if self.awaited_files.file_of(&timer.round).is_none() || !self.awaited_files.look(timer)? {
            return dues.expire(timer);
        }
        dues.dates.try_again(timer.clone(), SLOW);
        Ok(After::GoesOn)
    }

    /// Applies the result of a look that `timer` began.
    pub(crate) fn apply_look(&mut self, dues: &mut Dues<'_>, timer: Timer, there: bool) {
        // While threads are short, the next look around tries again.
        let _ = self.awaited_files.ended(&timer).inspect_err(askbox_run::log::error);
        let Some(path) = self.awaited_files.file_of(&timer.round).map(Path::to_path_buf) else { return };
        if timer.due == Due::Expire {
            // `expire_after_look` has left this timer for the case that the look does not end.
            dues.dates.forget_expiry(&timer.round);
        }
        let done = match (there, timer.due) {
            (true, _) => match expire::come(&dues.served.mailbox, &timer.round, &Until::File(path)) {
                // The question is over, or waits for another file by now.
                Ok(Expiry::Nothing) => {
                    dues.dates.add(always_due(timer.round.clone()));
                    Ok(After::GoesOn)
                }
                came => came.map(|expiry| dues.note(&timer, expiry)),
            },
            (false, Due::Expire) => dues.expire(&timer),
            (false, _) => Ok(After::GoesOn),
        };
        dues.end_timer(timer, done);
    }

    /// Adds a look at a file that questions wait for, because something may have happened to it.
    pub(crate) fn look_for_file(&self, dates: &mut Dates, path: &Path) {
        self.awaited_files.rounds_of(path).into_iter().map(always_due).for_each(|timer| dates.add(timer));
    }
}

/// The event that a round's question waits for. `None` if the question does not wait for an event, or is over.
fn awaited(mailbox: &Mailbox, round: &RoundId) -> Result<Option<Until>> {
    let Some(document) = disk::if_there(read_question::pending(mailbox, &round.workflow))? else { return Ok(None) };
    let is_same = round::of_pending(mailbox, &document.typed)? == *round;
    Ok(document.typed.until.filter(|_| is_same))
}

fn always_due(round: RoundId) -> Timer {
    Timer { at: Time::UNIX_EPOCH, due: Due::Until, round }
}
