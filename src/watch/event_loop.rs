//! The loop of a watcher: sleep until a message or a date, react, launch.

use std::ops::ControlFlow;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::disk::file_events::Hint;
use crate::error::Result;
use crate::mailbox::who::presence;
use crate::time;
use crate::watch::availability;
use crate::watch::messages::{Left, WatchMessage};
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Watches until a message says stop or the mailbox is gone. Calls `ready` once, after the first look at everything.
    pub fn run(mut self, ready: impl FnOnce()) -> Result<Left> {
        if self.scope.is_service() {
            self.complete_interrupted_posts();
        }
        self.news.keep_at_work();
        self.gate.count_recent_failures();
        self.look_at_everything(true, false);
        self.launch();
        self.mark_noted();
        tracing::info!(event = "watching", "{}", self.mailbox.root().display());
        ready();
        if self.scope.is_service() {
            self.remove_left_over_files();
        }
        let messages = self.messages;
        loop {
            let wait = if self.sweep.is_empty() { self.next_deadline().saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            match messages.recv_timeout(wait) {
                Ok(first) => {
                    // All messages that have come meanwhile are handled in one pass.
                    for message in std::iter::once(first).chain(messages.try_iter()) {
                        if self.handle(message).is_break() {
                            // A question may have been noted earlier in this pass.
                            self.mark_noted();
                            return Ok(Left::Stopped);
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Left::Stopped),
            }
            if availability::identity(self.mailbox.root()).as_ref() != Some(&self.identity) {
                return Ok(Left::MailboxGone);
            }
            if !availability::is_trusted(self.mailbox.root()) {
                return Ok(Left::NotTrusted);
            }
            self.sweep_some();
            self.look_again();
            self.handle_due_dates();
            self.wake_parents_of_changed();
            if Instant::now() >= self.next_look_around {
                if !self.scope.is_service() && presence::anybody(&self.mailbox)? {
                    return Ok(Left::ToService);
                }
                self.look_at_everything(false, self.poll);
            }
            self.launch();
            self.news.keep_at_work();
            self.mark_noted();
            self.report();
        }
    }

    fn next_deadline(&self) -> Instant {
        let now = Instant::now();
        let date = self.timers.first().map(|t| now + (t.at - time::now()).to_std().unwrap_or_default());
        let waits = self.gate.deadline().into_iter().chain(self.places.look_at).chain(self.metrics.deadline()).chain(self.news.deadline());
        self.look_again_at.values().copied().chain(date).chain(waits).fold(self.next_look_around, Instant::min)
    }

    fn handle(&mut self, message: WatchMessage) -> ControlFlow<()> {
        match message {
            WatchMessage::Stop => return ControlFlow::Break(()),
            WatchMessage::Hint(Hint::At(path)) => self.look_at(&path),
            WatchMessage::Hint(Hint::Anywhere) => {
                self.look_at_everything(false, true);
                self.news.look_at_all();
            }
            WatchMessage::RunEnded(round) => {
                self.live.remove(&round);
                // Two watchers may each have started a supervisor. If the other one owns the run, the run has not ended.
                if !self.is_live(&round) {
                    self.count_ended_run(&round);
                }
                self.recover(&round);
                self.news.look(&round.workflow);
                self.release_waiting_for(&round);
            }
            WatchMessage::Recovered(round, recovered) => {
                self.recovering.remove(&round);
                self.apply_recovery(&round, *recovered);
                self.news.look(&round.workflow);
                self.release_waiting_for(&round);
            }
            WatchMessage::AwaitedFile(hint) => self.look_for_files(&hint),
            WatchMessage::Looked(timer, there) => self.apply_look(*timer, there),
        }
        ControlFlow::Continue(())
    }
}
