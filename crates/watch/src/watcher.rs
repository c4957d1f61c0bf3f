//! A watcher: its parts, and its loop. It sleeps until a message or a date, reacts, and launches. It looks at one path, whose folder
//! decides what it does, or at everything: that finds every change, even one without a file event.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::beside::Companion;
use crate::connection::Connection;
use crate::dates::Dates;
use crate::housekeeping::Housekeeping;
use crate::launch::launches::Launches;
use crate::look::due_dates;
use crate::look::events::Events;
use crate::look::overdue::Dues;
use crate::look::parents::{self, Parents};
use crate::look::questions::{self, Questions};
use crate::messages::{Left, Options, WatchMessage};
use crate::news::courier::Courier;
use crate::report::reports::Reports;
use crate::scope::{Scope, Served};
use crate::traces::TraceLine;
use askbox_config::Config;
use askbox_mailbox::prompts;
use askbox_mailbox::{Due, Folder, Hint, Mailbox, Result, RoundId, Timer, WorkflowId, disk, lineage, list, presence};
use askbox_run::log;
use askbox_run::story::begun_with;
use askbox_sessions::prompting::Prompting;

/// How much later than the first watcher of a mailbox the second one reacts. If the first one is stopped or busy, an answer waits this long.
const AFTER_THE_FIRST: Duration = Duration::from_millis(500);

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
    prompts: Prompting,
    traces: Companion,
    codex: Companion,
    reports: Reports,
    housekeeping: Housekeeping,
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
        if options.scope.is_service() {
            begun_with::note(&mailbox, &config);
        }
        let served = Served::new(mailbox, config, options.scope.clone());
        let companion = |name, role, is_wanted: bool| {
            if is_wanted && served.scope.is_service() { Companion::new(name, role, &served.mailbox) } else { Companion::default() }
        };
        Ok(Self {
            launches: Launches::new(&served, &sender),
            news: if served.scope.is_service() { Courier::new(&served.mailbox, &served.config) } else { Courier::default() },
            prompts: match served.scope.is_service() {
                true => Prompting::new(served.mailbox.clone(), served.config.live.opencode),
                false => Prompting::default(),
            },
            traces: companion("askbox-outgoing", "traces", served.config.traces.are_sent()),
            codex: companion("askbox-live", "codex", served.config.live.codex),
            questions: Questions::new(&served.mailbox),
            reports: Reports::new(&served.config),
            housekeeping: Housekeeping::default(),
            events: Events::new(sender, !connection.polls),
            parents: Parents::default(),
            dates: Dates::new(options),
            served,
            connection,
            messages,
        })
    }

    /// Watches until a message says stop or the mailbox is gone. Calls `ready` once, after the first look at everything.
    pub fn run(mut self, ready: impl FnOnce()) -> Result<Left> {
        if self.served.scope.is_service() {
            // The posts that a crash interrupted.
            let hidden = list::hidden_names(&self.served.mailbox, Folder::Pending).unwrap_or_default();
            hidden.iter().for_each(|name| questions::complete_post(&self.served, &mut self.dates, name));
        }
        self.keep_news_at_work();
        self.launches.gate.count_recent_failures();
        self.look_at_everything(true, false);
        if self.served.scope.is_service() {
            self.launches.gate.report_pause();
        }
        self.launches.launch(&self.served, &mut self.dates);
        self.questions.mark_noted(&self.served);
        tracing::info!(event = "watching", "{}", self.served.mailbox.root().display());
        ready();
        if self.served.scope.is_service() {
            questions::remove_left_over_files(&self.served.mailbox);
        }
        self.housekeeping.keep_house(&self.served);
        let messages = self.messages;
        loop {
            let wait =
                if self.questions.are_swept() { self.next_deadline().saturating_duration_since(Instant::now()) } else { Duration::ZERO };
            match messages.recv_timeout(wait) {
                Ok(first) => {
                    if !matches!(first, WatchMessage::Second(_)) && !self.connection.is_first(&self.served.mailbox) {
                        // The first watcher does what this is about. Afterwards there is nothing left, unless that one is stopped.
                        std::thread::sleep(AFTER_THE_FIRST);
                    }
                    // All messages that have come so far are handled in one pass.
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
            if self.dates.are_due() || !self.questions.are_swept() {
                // Answers come before everything that may take long.
                self.launches.launch(&self.served, &mut self.dates);
            }
            self.questions.sweep_some(&self.served, &mut self.dates, &self.news);
            self.look_again();
            let mut dues = Dues { served: &self.served, dates: &mut self.dates, questions: &mut self.questions, news: &self.news };
            due_dates::handle_due(&mut dues, &mut self.launches, &mut self.events);
            self.parents.wake_changed(&self.served, &mut self.dates, &mut self.launches);
            if self.dates.is_time_to_look_around() {
                if !self.served.scope.is_service() && presence::anybody(&self.served.mailbox)? {
                    return Ok(Left::ToService);
                }
                self.look_at_everything(false, self.connection.polls);
                self.housekeeping.keep_house(&self.served);
            }
            self.launches.launch(&self.served, &mut self.dates);
            self.keep_news_at_work();
            self.questions.mark_noted(&self.served);
            if !self.connection.is_later() {
                self.reports.write(&self.served, &self.launches);
            }
        }
    }

    /// A watcher that does not hear what happens leaves the news, and the reports, to those that do.
    fn keep_news_at_work(&mut self) {
        if !self.connection.is_later() {
            self.news.keep_at_work();
            self.traces.keep_at_work();
            self.codex.keep_at_work();
        }
    }

    fn next_deadline(&self) -> Instant {
        let of_reports = self.reports.metrics.deadline().filter(|_| !self.connection.is_later());
        let waits = self.launches.deadline().into_iter().chain(of_reports).chain(self.news.retry_at);
        let waits = waits.chain(self.traces.deadline()).chain(self.codex.deadline());
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
            WatchMessage::Second(lock) => {
                if self.connection.is_second_now(&self.served.mailbox, lock) {
                    tracing::info!(event = "takes_over", "one of the two watchers that react has ended; this one takes its place");
                    // The first one may have ended too.
                    self.connection.is_first(&self.served.mailbox);
                    self.look_at_everything(false, true);
                }
            }
            WatchMessage::RunEnded(round) => {
                let ended = self.launches.run_ended(&self.served, &mut self.dates, &round);
                ended.iter().for_each(|run| self.reports.metrics.count(run));
                self.release_waiting_for(&round);
            }
            WatchMessage::Recovered(round, recovered) => {
                self.launches.recovered(&self.served, &mut self.dates, &round, *recovered);
                self.release_waiting_for(&round);
            }
            WatchMessage::AwaitedFile(Hint::At(path)) => self.events.look_for_file(&mut self.dates, &path),
            WatchMessage::AwaitedFile(Hint::Anywhere) => self.look_at_everything(false, false),
            WatchMessage::Looked(timer, there) => {
                let mut dues = Dues { served: &self.served, dates: &mut self.dates, questions: &mut self.questions, news: &self.news };
                self.events.apply_look(&mut dues, *timer, there);
            }
        }
        ControlFlow::Continue(())
    }

    /// Handles a round whose run has ended or been recovered: its parent may have to be told, and other workflows may have waited for it.
    fn release_waiting_for(&mut self, round: &RoundId) {
        self.news.look(&round.workflow);
        self.traces.say(&TraceLine::Ended(round.workflow.clone(), round.question));
        if self.served.serves(&round.workflow) {
            self.parents.note_changed(round.workflow.clone());
            self.launches.enqueue(&self.served, &round.workflow);
        }
        self.launches.release_waiting_for(&self.served, round);
    }
}

impl Watcher<'_> {
    /// Looks at one path of the mailbox.
    pub(super) fn look_at(&mut self, path: &Path) {
        if path.starts_with(prompts::folder(&self.served.mailbox)) {
            self.connection.watch_prompts(&self.served.mailbox);
            self.news.look_at_prompts();
            return self.prompts.wake();
        }
        let Some(whole_name) = path.file_name().filter(|n| !n.as_encoded_bytes().starts_with(b".")) else { return };
        let name = whole_name.to_str().unwrap_or_default();
        let folder = Folder::all().find(|f| path.parent() == Some(&self.served.mailbox.folder(*f)));
        if !self.served.scope.is_service() && !folder.and_then(|folder| workflow_of(folder, name)).is_some_and(|w| self.served.serves(&w)) {
            return;
        }
        if let Some(workflow) = folder.and_then(|folder| workflow_of(folder, name)) {
            self.news.look(&workflow);
            self.traces.say(&TraceLine::Look(workflow.clone()));
        }
        match folder {
            Some(Folder::Pending) => {
                WorkflowId::from_file_name(name).into_iter().for_each(|workflow| self.parents.note_changed(workflow));
                self.questions.read(&self.served, &mut self.dates, &self.news, whole_name, true);
            }
            Some(Folder::Answered) => {
                if let Some(workflow) = WorkflowId::from_file_name(name) {
                    self.launches.enqueue(&self.served, &workflow);
                }
            }
            Some(Folder::Running) => {
                if let Some(round) = RoundId::from_file_name(name).filter(|r| !self.launches.is_live(r)) {
                    self.launches.recover(&self.served, &mut self.dates, &round);
                    self.parents.note_changed(round.workflow);
                }
            }
            // The round may have been dropped. Then its parent is told.
            Some(Folder::Parked) => {
                RoundId::from_file_name(name).into_iter().for_each(|round| self.parents.note_changed(round.workflow));
            }
            // The parent's last await may be gone.
            Some(Folder::Awaits) => name.parse().into_iter().for_each(|parent| self.parents.note_changed(parent)),
            Some(Folder::Timers) => {
                if let Some(timer) = Timer::from_file_name(name).filter(|_| disk::exists(path)) {
                    self.dates.add(timer);
                }
            }
            _ => {}
        }
    }

    /// Looks at the paths whose time for another look has come.
    pub(super) fn look_again(&mut self) {
        for path in &self.dates.due_paths() {
            self.dates.look_again_at.remove(path);
            match path.file_name().and_then(OsStr::to_str).filter(|name| name.starts_with('.')) {
                Some(hidden) => questions::complete_post(&self.served, &mut self.dates, hidden),
                None => self.look_at(path),
            }
        }
    }
}

/// The workflow that a name in a folder belongs to, if a watcher of one tree needs the name.
fn workflow_of(folder: Folder, name: &str) -> Option<WorkflowId> {
    match folder {
        Folder::Pending | Folder::Answered => WorkflowId::from_file_name(name),
        Folder::Running | Folder::Parked => RoundId::from_file_name(name).map(|round| round.workflow),
        Folder::Awaits => name.parse().ok(),
        Folder::Timers => Timer::from_file_name(name).filter(|timer| timer.due != Due::Remind).map(|timer| timer.round.workflow),
        _ => None,
    }
}

impl Watcher<'_> {
    /// Looks at every folder. With `first`, the questions in `pending/` are left to the sweep, which reads them later. With `thorough`,
    /// files whose names are known are checked for changes too. Anything that cannot be read is looked at again the next time.
    fn look_at_everything(&mut self, first: bool, thorough: bool) {
        self.dates.put_off_look_around();
        let looked = match self.served.scope.clone() {
            Scope::Mailbox => self.look_at_folders(first, thorough),
            Scope::Tree(root) => self.look_at_tree(&root),
        };
        log::ok(looked);
    }

    fn look_at_folders(&mut self, first: bool, thorough: bool) -> Result<()> {
        // Timers come first: the steps below add to them.
        self.dates.timers = list::names(&self.served.mailbox, Folder::Timers)?.iter().filter_map(|n| Timer::from_file_name(n)).collect();
        self.events.keep_only(&self.dates.rounds_with_event());
        for round in list::round_names(&self.served.mailbox, Folder::Running) {
            self.launches.recover_unless_live(&self.served, &mut self.dates, &round);
        }
        self.launches.gate.end_dead_probe();
        self.prompts.wake();
        for workflow in list::workflows(&self.served.mailbox, Folder::Answered)? {
            self.launches.enqueue(&self.served, &workflow);
        }
        parents::wake_all(&self.served, &mut self.dates, &mut self.launches)?;
        let pending = list::all_names(&self.served.mailbox, Folder::Pending)?;
        if first {
            self.questions.sweep = pending;
        } else {
            self.questions.read_new(&self.served, &mut self.dates, &self.news, pending, thorough);
        }
        Ok(())
    }

    /// Looks at every member of a tree, for a watcher that serves only this tree. The cost grows with the tree, not with the mailbox.
    fn look_at_tree(&mut self, root: &WorkflowId) -> Result<()> {
        let members: HashSet<WorkflowId> = lineage::members(&self.served.mailbox, root)?.into_iter().collect();
        for round in list::round_names(&self.served.mailbox, Folder::Running).filter(|round| members.contains(&round.workflow)) {
            self.launches.recover_unless_live(&self.served, &mut self.dates, &round);
        }
        self.launches.gate.end_dead_probe();
        for member in members {
            if disk::exists(self.served.mailbox.document(Folder::Pending, &member)) {
                self.questions.read(&self.served, &mut self.dates, &self.news, member.file_name().as_ref(), false);
            }
            if disk::exists(self.served.mailbox.document(Folder::Answered, &member)) {
                self.launches.enqueue(&self.served, &member);
            }
            self.parents.note_changed(member);
        }
        self.parents.wake_changed(&self.served, &mut self.dates, &mut self.launches);
        Ok(())
    }
}
