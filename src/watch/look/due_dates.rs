//! Expiries, reminders and retries whose date has come. A timer file is only a hint; the question or run says what is really due.

use std::time::Duration;

use crate::error::Result;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::timers::{self, Due, Timer};
use crate::mailbox::transitions::expire::{self, Expiry};
use crate::mailbox::{read_question, round};
use crate::time;
use crate::watch::report::notifier::News;
use crate::watch::watcher::{RETRY_AFTER, Watcher, pause_after};

impl Watcher<'_> {
    /// Handles every timer whose date has come, and removes its file.
    pub(in crate::watch) fn handle_due_dates(&mut self) {
        while self.timers.first().is_some_and(|t| t.at <= time::now()) {
            let Some(timer) = self.timers.pop_first() else { break };
            let done = match timer.due {
                Due::Expire => self.expire(&timer),
                Due::Remind => self.remind(&timer),
                Due::Retry => {
                    if !self.live.contains(&timer.round) {
                        self.recover(&timer.round);
                    }
                    Ok(())
                }
            };
            if let Err(e) = done.and_then(|()| timer.disarm(&self.mailbox)) {
                self.try_again(timer, pause_after(&e));
            }
        }
    }

    fn try_again(&mut self, timer: Timer, pause: Duration) {
        self.timers.insert(Timer { at: time::now() + pause, ..timer });
    }

    fn expire(&mut self, timer: &Timer) -> Result<()> {
        let expiry = expire::expire(&self.mailbox, &timer.round, time::now())?;
        let event = match expiry {
            Expiry::Nothing => {
                // The workflow may have another question by now, or the question another date.
                self.read_question(timer.round.workflow.file_name().as_ref(), true);
                return Ok(());
            }
            Expiry::Later => {
                self.try_again(timer.clone(), RETRY_AFTER);
                return Ok(());
            }
            Expiry::Kept => "overdue",
            Expiry::Defaulted => "default",
            Expiry::Cancelled => "expired",
        };
        tracing::info!(event, workflow = %timer.round.workflow);
        if expiry == Expiry::Kept {
            self.notifier.tell(News::Overdue, &timer.round);
        }
        Ok(())
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
        self.notifier.tell(News::Reminder, &timer.round);
        let asked = timers::asked(&self.mailbox, &document.typed);
        let dates = timers::of_question(&document.typed, &timer.round, asked, time::now());
        for next in dates.into_iter().filter(|t| t.due == Due::Remind) {
            next.arm(&self.mailbox)?;
            self.timers.insert(next);
        }
        Ok(())
    }
}
