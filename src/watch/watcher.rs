//! A watcher: its parts, and its loop. It sleeps until a message or a date, reacts, and launches.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::disk::file_events::Hint;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Mailbox;
use crate::mailbox::who::presence;
use crate::news::courier::Courier;
use crate::watch::connection::Connection;
use crate::watch::dates::Dates;
use crate::watch::launch::launches::Launches;
use crate::watch::look::due_dates;
use crate::watch::look::events::Events;
use crate::watch::look::leftovers;
use crate::watch::look::parents::Parents;
use crate::watch::look::questions::Questions;
use crate::watch::messages::{Left, Options, WatchMessage};
use crate::watch::report::reports::Reports;
use crate::watch::served::Served;

/// A watcher on one mailbox.
pub struct Watcher<'a> {
    pub(super) served: Served,
    pub(super) connection: Connection,
    messages: &'a Receiver<WatchMessage>,
    pub(super) dates: Dates,
    pub(super) launches: Launches,
    pub(super) questions: Questions,
    pub(super) events: Events,
    pub(super) parents: Parents,
    pub(super) news: Courier,
    reports: Reports,
}

impl<'a> Watcher<'a> {
    /// Begins to watch an open mailbox. Every answer that comes after this returns is seen.
    pub fn new(
        mailbox: Mailbox,
        config: Config,
        options: &Options,
        messages: &'a Receiver<WatchMessage>,
        sender: Sender<WatchMessage>,
    ) -> Result<Self> {
        let mailbox = mailbox.for_a_service();
        let connection = Connection::open(&mailbox, options, &sender)?;
        let served = Served::new(mailbox, config, options.scope.clone());
        Ok(Self {
            launches: Launches::new(&served, &sender),
            news: if served.by_service() { Courier::new(&served.mailbox, &served.config) } else { Courier::default() },
            questions: Questions::new(&served.mailbox),
            reports: Reports::new(&served.config),
            events: Events::new(sender, !connection.polls()),
            parents: Parents::default(),
            dates: Dates::new(options),
            served,
            connection,
            messages,
        })
    }

    /// Watches until a message says stop or the mailbox is gone. Calls `ready` once, after the first look at everything.
    pub fn run(mut self, ready: impl FnOnce()) -> Result<Left> {
        if self.served.by_service() {
            leftovers::complete_all(&self.served, &mut self.dates);
        }
        self.news.keep_at_work();
        self.launches.count_recent_failures();
        self.look_at_everything(true, false);
        self.launches.launch(&self.served, &mut self.dates);
        self.questions.mark_noted(&self.served);
        tracing::info!(event = "watching", "{}", self.served.mailbox.root().display());
        ready();
        if self.served.by_service() {
            leftovers::remove_left_over_files(&self.served.mailbox);
        }
        let messages = self.messages;
        loop {
            let wait =
                if self.questions.are_swept() { self.next_deadline().saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            match messages.recv_timeout(wait) {
                Ok(first) => {
                    // All messages that have come meanwhile are handled in one pass.
                    for message in std::iter::once(first).chain(messages.try_iter()) {
                        if self.handle(message).is_break() {
                            // A question may have been noted earlier in this pass.
                            self.questions.mark_noted(&self.served);
                            return Ok(Left::Stopped);
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Left::Stopped),
            }
            if let Some(left) = self.connection.broken(&self.served.mailbox) {
                return Ok(left);
            }
            self.questions.sweep_some(&self.served, &mut self.dates, &self.news);
            self.look_again();
            due_dates::handle(&self.served, &mut self.dates, &mut self.launches, &mut self.questions, &mut self.events, &self.news);
            self.parents.wake_changed(&self.served, &mut self.dates, &mut self.launches);
            if self.dates.is_time_to_look_around() {
                if !self.served.by_service() && presence::anybody(&self.served.mailbox)? {
                    return Ok(Left::ToService);
                }
                self.look_at_everything(false, self.connection.polls());
            }
            self.launches.launch(&self.served, &mut self.dates);
            self.news.keep_at_work();
            self.questions.mark_noted(&self.served);
            self.reports.write(&self.served, &self.launches);
        }
    }

    fn next_deadline(&self) -> Instant {
        let waits = self.launches.deadline().into_iter().chain(self.reports.deadline()).chain(self.news.deadline());
        waits.fold(self.dates.next(), Instant::min)
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
                let ended = self.launches.run_ended(&self.served, &mut self.dates, &round);
                ended.iter().for_each(|run| self.reports.count(run));
                self.release_waiting_for(&round);
            }
            WatchMessage::Recovered(round, recovered) => {
                self.launches.recovered(&self.served, &mut self.dates, &round, *recovered);
                self.release_waiting_for(&round);
            }
            WatchMessage::AwaitedFile(Hint::At(path)) => self.events.look_for_file(&mut self.dates, &path),
            WatchMessage::AwaitedFile(Hint::Anywhere) => self.look_at_everything(false, false),
            WatchMessage::Looked(timer, there) => {
                self.events.apply_look(&self.served, &mut self.dates, &mut self.questions, &self.news, *timer, there);
            }
        }
        ControlFlow::Continue(())
    }

    /// The run of this round has ended or been recovered: its parent may have to be told, and other workflows may have waited for it.
    fn release_waiting_for(&mut self, round: &RoundId) {
        self.news.look(&round.workflow);
        if self.served.serves(&round.workflow) {
            self.parents.note_changed(round.workflow.clone());
            self.launches.enqueue(&self.served, &round.workflow);
        }
        self.launches.release_waiting_for(&self.served, round);
    }
}
