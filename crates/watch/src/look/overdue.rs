//! The end of a question whose date or event has come.

use crate::dates::{Dates, RETRY_AFTER, pause_after};
use crate::look::questions::Questions;
use crate::news::courier::Courier;
use crate::scope::Served;
use askbox_mailbox::due::timers::Timer;
use askbox_mailbox::error::Result;
use askbox_mailbox::time;
use askbox_mailbox::transitions::expire::{self, Expiry};

/// Says if a timer is still needed after it was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Over,
    GoesOn,
}

/// Applies the date of a question.
pub(super) fn expire(served: &Served, dates: &mut Dates, questions: &mut Questions, news: &Courier, timer: &Timer) -> Result<After> {
    let expiry = expire::expire(&served.mailbox, &served.config.answers.policy(), &timer.round, time::now())?;
    Ok(note(served, dates, questions, news, timer, expiry))
}

/// Reports the outcome for a question whose timer is due.
pub(super) fn note(served: &Served, dates: &mut Dates, questions: &mut Questions, news: &Courier, timer: &Timer, expiry: Expiry) -> After {
    let event = match expiry {
        Expiry::Nothing => {
            // The workflow may have another question by now, or the question may have another date.
            questions.read(served, dates, news, timer.round.workflow.file_name().as_ref(), true);
            return After::Over;
        }
        Expiry::Later => {
            dates.try_again(timer.clone(), RETRY_AFTER);
            return After::GoesOn;
        }
        Expiry::Came => "came",
        Expiry::Kept => "overdue",
        Expiry::Defaulted => "default",
        Expiry::Cancelled => "expired",
    };
    tracing::info!(event, workflow = %timer.round.workflow);
    news.look(&timer.round.workflow);
    After::Over
}

/// Removes the file of a timer that is over. A timer that could not be handled is tried again.
pub(super) fn end_timer(served: &Served, dates: &mut Dates, timer: Timer, done: Result<After>) {
    let ended = match done {
        Ok(After::GoesOn) => Ok(()),
        Ok(After::Over) => timer.disarm(&served.mailbox),
        Err(e) => Err(e),
    };
    if let Err(e) = ended {
        dates.try_again(timer, pause_after(&e));
    }
}
