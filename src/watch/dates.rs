//! Dates that are due: expiries, reminders, next attempts.

use crate::error::Result;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::close::{self, Expiry};
use crate::mailbox::intake;
use crate::mailbox::timers::{self, Due, Timer};
use crate::time;
use crate::watch::Watch;

/// The pause after which what failed is tried again.
const AGAIN: chrono::TimeDelta = chrono::TimeDelta::seconds(10);

impl Watch<'_> {
    /// Does what is due. A timer is only a hint: the document says whether its date is real.
    pub(super) fn dates(&mut self) {
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
                self.tell(&e);
                self.again_later(timer);
            }
        }
    }

    fn again_later(&mut self, timer: Timer) {
        self.timers.insert(Timer { at: time::now() + AGAIN, ..timer });
    }

    fn expire(&mut self, timer: &Timer) -> Result<()> {
        let expiry = close::expire(&self.mailbox, &timer.round, time::now())?;
        let word = match expiry {
            Expiry::Nothing => {
                // The question's date or round may be another by now.
                self.take_in(&timer.round.workflow.file_name(), true);
                return Ok(());
            }
            Expiry::Later => {
                self.again_later(timer.clone());
                return Ok(());
            }
            Expiry::Kept => "overdue",
            Expiry::Defaulted => "default",
            Expiry::Cancelled => "expired",
        };
        tracing::info!(event = word, workflow = %timer.round.workflow);
        if expiry == Expiry::Kept
            && let Ok(document) = intake::read_pending(&self.mailbox, &timer.round.workflow)
        {
            self.notify("overdue", &document);
        }
        Ok(())
    }

    fn remind(&mut self, timer: &Timer) -> Result<()> {
        let document = match intake::read_pending(&self.mailbox, &timer.round.workflow) {
            Ok(document) => document,
            Err(e) if e.is_missing_file() => return Ok(()),
            Err(e) => return Err(e),
        };
        if intake::round_of(&self.mailbox, &document.typed)? != timer.round {
            self.take_in(&timer.round.workflow.file_name(), true);
            return Ok(());
        }
        audit::record(&self.mailbox, Entry::of("reminded", &timer.round).by("timer"));
        tracing::info!(event = "reminder", workflow = %timer.round.workflow);
        self.notify("reminder", &document);
        let asked = timers::asked(&self.mailbox, &document.typed);
        let dates = timers::of_question(&document.typed, &timer.round, asked, time::now());
        for next in dates.into_iter().filter(|t| t.due == Due::Remind) {
            next.arm(&self.mailbox)?;
            self.timers.insert(next);
        }
        Ok(())
    }
}
