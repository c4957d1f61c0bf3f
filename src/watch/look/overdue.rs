//! The end of a question whose date or event has come.

use crate::error::Result;
use crate::mailbox::due::timers::Timer;
use crate::mailbox::transitions::expire::{self, Expiry};
use crate::news::courier::Courier;
use crate::time;
use crate::watch::dates::{Dates, RETRY_AFTER, pause_after};
use crate::watch::look::questions::Questions;
use crate::watch::served::Served;

/// Whether a timer is still needed once it was handled.
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

/// Says what became of a question whose timer is due.
pub(super) fn note(served: &Served, dates: &mut Dates, questions: &mut Questions, news: &Courier, timer: &Timer, expiry: Expiry) -> After {
    let event = match expiry {
        Expiry::Nothing => {
            // The workflow may have another question by now, or the question another date.
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

/// Removes the file of a timer that is over. One that could not be handled is tried again.
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
