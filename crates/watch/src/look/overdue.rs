//! The end of a question whose date or event has come.

use crate::dates::{Dates, RETRY_AFTER, pause_after};
use crate::look::questions::Questions;
use crate::news::courier::Courier;
use crate::scope::Served;
use askbox_mailbox::transitions::expire::{self, Expiry};
use askbox_mailbox::{Result, Timer, time};

/// Says if a timer is still needed after it was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Over,
    GoesOn,
}

/// The parts of the watcher that end a question.
pub(crate) struct Dues<'a> {
    pub(crate) served: &'a Served,
    pub(crate) dates: &'a mut Dates,
    pub(crate) questions: &'a mut Questions,
    pub(crate) news: &'a Courier,
}

impl Dues<'_> {
    /// Applies the date of a question.
    pub(super) fn expire(&mut self, timer: &Timer) -> Result<After> {
        let expiry = expire::expire(&self.served.mailbox, &self.served.config.answers.policy(), &timer.round, time::now())?;
        Ok(self.note(timer, expiry))
    }

    /// Reads the question of a timer anew: the workflow may have another one by now, or the question another date.
    pub(super) fn read_again(&mut self, timer: &Timer) {
        self.questions.read(self.served, self.dates, self.news, timer.round.workflow.file_name().as_ref(), true);
    }

    /// Reports the outcome for a question whose timer is due.
    pub(super) fn note(&mut self, timer: &Timer, expiry: Expiry) -> After {
        let event = match expiry {
            Expiry::Nothing => {
                self.read_again(timer);
                return After::Over;
            }
            Expiry::Later => {
                self.dates.try_again(timer.clone(), RETRY_AFTER);
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

    /// Removes the file of a timer that is over. A timer that could not be handled is tried again.
    pub(super) fn end_timer(&mut self, timer: Timer, done: Result<After>) {
        let ended = match done {
            Ok(After::GoesOn) => Ok(()),
            Ok(After::Over) => timer.disarm(&self.served.mailbox),
            Err(e) => Err(e),
        };
        if let Err(e) = ended {
            self.dates.try_again(timer, pause_after(&e));
        }
    }
}
