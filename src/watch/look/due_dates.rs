//! Expiries, reminders and retries whose date has come. A timer file is only a hint; the question or run says what is really due.

use std::time::Duration;

use crate::error::Result;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::due::timers::{self, Due, Timer};
use crate::mailbox::transitions::expire::{self, Expiry};
use crate::mailbox::{read_question, round};
use crate::time;
use crate::watch::watcher::{RETRY_AFTER, Watcher, pause_after};

/// Whether a timer is still needed once it was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Over,
    GoesOn,
}

impl Watcher<'_> {
    /// Handles every timer whose date has come, and removes its file.
    pub(in crate::watch) fn handle_due_dates(&mut self) {
        while self.timers.first().is_some_and(|t| t.at <= time::now()) {
            let Some(timer) = self.timers.pop_first() else { break };
            let done = match timer.due {
                Due::Expire => self.expire_after_look(&timer),
                Due::Until => self.look_for_event(&timer),
                Due::Remind => self.remind(&timer).map(|()| After::Over),
                Due::Retry => {
                    if !self.live.contains(&timer.round) {
                        self.recover(&timer.round);
                    }
                    Ok(After::Over)
                }
            };
            self.end_timer(timer, done);
        }
    }

    /// Removes the file of a timer that is over. One that could not be handled is tried again.
    pub(super) fn end_timer(&mut self, timer: Timer, done: Result<After>) {
        let ended = match done {
            Ok(After::GoesOn) => Ok(()),
            Ok(After::Over) => timer.disarm(&self.mailbox),
            Err(e) => Err(e),
        };
        if let Err(e) = ended {
            self.try_again(timer, pause_after(&e));
        }
    }

    pub(super) fn try_again(&mut self, timer: Timer, pause: Duration) {
        self.timers.insert(Timer { at: time::now() + pause, ..timer });
    }

    /// Applies the date of a question.
    pub(super) fn expire(&mut self, timer: &Timer) -> Result<After> {
        let expiry = expire::expire(&self.mailbox, &self.config.answers.policy(), &timer.round, time::now())?;
        Ok(self.note(timer, expiry))
    }

    /// Says what became of a question whose timer is due.
    pub(super) fn note(&mut self, timer: &Timer, expiry: Expiry) -> After {
        let event = match expiry {
            Expiry::Nothing => {
                // The workflow may have another question by now, or the question another date.
                self.read_question(timer.round.workflow.file_name().as_ref(), true);
                return After::Over;
            }
            Expiry::Later => {
                self.try_again(timer.clone(), RETRY_AFTER);
                return After::GoesOn;
            }
            Expiry::Came => "came",
            Expiry::Kept => "overdue",
            Expiry::Defaulted => "default",
            Expiry::Cancelled => "expired",
        };
        tracing::info!(event, workflow = %timer.round.workflow);
        self.news.look(&timer.round.workflow);
        After::Over
    }

    fn remind(&mut self, timer: &Timer) -> Result<()> {
        let document = match read_question::pending(&self.mailbox, &timer.round.workflow) {
            Ok(document) => document,
            Err(e) if e.is_missing_file() => return Ok(()),
            Err(e) => return Err(e),
        };
        if round::of_pending(&self.mailbox, &document.typed)? != timer.round {
            self.read_question(timer.round.workflow.file_name().as_ref(), true);
            return Ok(());
        }
        audit::record(&self.mailbox, Entry::of("reminded", &timer.round).by("timer"));
        tracing::info!(event = "reminder", workflow = %timer.round.workflow);
        self.news.look(&timer.round.workflow);
        let asked = timers::asked(&self.mailbox, &document.typed);
        let dates = timers::of_question(&document.typed, &timer.round, asked, time::now());
        for next in dates.into_iter().filter(|t| t.due == Due::Remind) {
            next.arm(&self.mailbox)?;
            self.timers.insert(next);
        }
        Ok(())
    }
}
