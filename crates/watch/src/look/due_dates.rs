//! Expiries, reminders and retries whose date has come. A timer file is only a hint. The question or the run decides what is really due.

use std::time::{Duration, Instant};

use crate::launch::launches::Launches;
use crate::look::events::Events;
use crate::look::overdue::{After, Dues};
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::{Due, Result, Timer, disk, read_question, round, time, timers};

/// How long the dates may hold up the answers that come meanwhile.
const SLICE: Duration = Duration::from_millis(5);

/// Handles timers whose date has come, and removes their files. It stops after a slice of time, and the next pass of the watcher goes on:
/// thousands of dates may come in one second, and an answer must not wait for them.
pub(crate) fn handle_due(dues: &mut Dues<'_>, launches: &mut Launches, events: &mut Events) {
    let begun = Instant::now();
    while let Some(timer) = dues.dates.pop_due() {
        let done = match timer.due {
            Due::Expire => events.expire_after_look(dues, &timer),
            Due::Until => events.look_for(dues, &timer),
            Due::Remind => remind(dues, &timer).map(|()| After::Over),
            Due::Retry => {
                launches.recover_unless_live(dues.served, dues.dates, &timer.round);
                Ok(After::Over)
            }
        };
        dues.end_timer(timer, done);
        if begun.elapsed() >= SLICE {
            return;
        }
    }
}

/// Reminds of a question, and arms its next reminder. The workflow is locked from the look at the question until then: an answer behind
/// it finds the new timer and removes it.
fn remind(dues: &mut Dues<'_>, timer: &Timer) -> Result<()> {
    let mailbox = &dues.served.mailbox;
    let lock = mailbox.lock(&timer.round.workflow)?;
    let Some(document) = disk::if_there(read_question::pending(mailbox, &timer.round.workflow))? else { return Ok(()) };
    if round::of_pending(mailbox, &document.typed)? != timer.round {
        drop(lock);
        dues.read_again(timer);
        return Ok(());
    }
    audit::record(mailbox, Entry::about_round("reminded", &timer.round).by("timer"));
    let asked = timers::asked(mailbox, &document.typed);
    let next = timers::of_question(&document.typed, &timer.round, asked, time::now());
    for next in next.into_iter().filter(|t| t.due == Due::Remind) {
        next.arm(mailbox)?;
        dues.dates.add(next);
    }
    drop(lock);
    tracing::info!(event = "reminder", workflow = %timer.round.workflow);
    dues.news.look(&timer.round.workflow);
    Ok(())
}
