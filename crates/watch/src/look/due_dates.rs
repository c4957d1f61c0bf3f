//! Expiries, reminders and retries whose date has come. A timer file is only a hint. The question or the run decides what is really due.

use std::time::{Duration, Instant};

use crate::dates::Dates;
use crate::launch::launches::Launches;
use crate::look::events::Events;
use crate::look::overdue::{self, After};
use crate::look::questions::Questions;
use crate::news::courier::Courier;
use crate::scope::Served;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::due::timers::{self, Due, Timer};
use askbox_mailbox::error::Result;
use askbox_mailbox::{read_question, round, time};

/// How long the dates may hold up the answers that come meanwhile.
const SLICE: Duration = Duration::from_millis(5);

/// Handles timers whose date has come, and removes their files. It stops after a slice of time, and the next pass of the watcher goes on:
/// thousands of dates may come in one second, and an answer must not wait for them.
pub(crate) fn handle_due(
    served: &Served,
    dates: &mut Dates,
    launches: &mut Launches,
    questions: &mut Questions,
    events: &mut Events,
    news: &Courier,
) {
    let begun = Instant::now();
    while let Some(timer) = dates.pop_due() {
        let done = match timer.due {
            Due::Expire => events.expire_after_look(served, dates, questions, news, &timer),
            Due::Until => events.look_for(served, dates, questions, news, &timer),
            Due::Remind => remind(served, dates, questions, news, &timer).map(|()| After::Over),
            Due::Retry => {
                launches.recover_unless_live(served, dates, &timer.round);
                Ok(After::Over)
            }
        };
        overdue::end_timer(served, dates, timer, done);
        if begun.elapsed() >= SLICE {
            return;
        }
    }
}

/// Reminds of a question, and arms its next reminder. The workflow is locked from the look at the question until then: an answer behind
/// it finds the new timer and removes it.
fn remind(served: &Served, dates: &mut Dates, questions: &mut Questions, news: &Courier, timer: &Timer) -> Result<()> {
    let lock = served.mailbox.lock(&timer.round.workflow)?;
    let document = match read_question::pending(&served.mailbox, &timer.round.workflow) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(()),
        Err(e) => return Err(e),
    };
    if round::of_pending(&served.mailbox, &document.typed)? != timer.round {
        drop(lock);
        questions.read(served, dates, news, timer.round.workflow.file_name().as_ref(), true);
        return Ok(());
    }
    audit::record(&served.mailbox, Entry::about_round("reminded", &timer.round).by("timer"));
    let asked = timers::asked(&served.mailbox, &document.typed);
    let next = timers::of_question(&document.typed, &timer.round, asked, time::now());
    for next in next.into_iter().filter(|t| t.due == Due::Remind) {
        next.arm(&served.mailbox)?;
        dates.add(next);
    }
    drop(lock);
    tracing::info!(event = "reminder", workflow = %timer.round.workflow);
    news.look(&timer.round.workflow);
    Ok(())
}
