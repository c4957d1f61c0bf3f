//! What the user is told of questions, through the operator's program `notify.command`: a queue, so that many questions at once start
//! few programs, and none is forgotten. The queue keeps names only; the question is read when its turn comes.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::Notify;
use crate::error::Result;
use crate::id::RoundId;
use crate::log;
use crate::mailbox::{Folder, Mailbox, list, read_question, round, timers};
use crate::text;
use crate::watch::messages::WatchMessage;
use crate::watch::report::notification::{self, Notification};

/// How many programs run at the same time.
const AT_ONCE: usize = 4;
/// How many notifications wait for their turn. Further ones are told as one.
const WAITING: usize = 64;
/// The pause after which a program is tried again that the system had no process for.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What there is to tell of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::watch) enum News {
    Asked,
    Reminder,
    Overdue,
}

impl News {
    fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Reminder => "reminder",
            Self::Overdue => "overdue",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Notice {
    /// Of one question.
    One(News, RoundId),
    /// Of this many that found the queue full.
    Several(usize),
}

#[derive(Debug)]
pub(in crate::watch) struct Notifier {
    config: Notify,
    mailbox: Mailbox,
    sender: Sender<WatchMessage>,
    queue: VecDeque<Notice>,
    running: usize,
    /// When to try again what the system had no process for.
    retry_at: Option<Instant>,
}

impl Notifier {
    pub(in crate::watch) fn new(config: &Notify, mailbox: &Mailbox, sender: Sender<WatchMessage>) -> Self {
        Self { config: config.clone(), mailbox: mailbox.clone(), sender, queue: VecDeque::new(), running: 0, retry_at: None }
    }

    /// Tells of a question now, or when its turn comes. Returns at once: a program that fails or hangs delays nothing but other
    /// notifications.
    pub(in crate::watch) fn tell(&mut self, news: News, round: &RoundId) {
        if self.config.command.is_empty() {
            return;
        }
        let is_full = self.queue.len() >= WAITING;
        match self.queue.back_mut() {
            Some(Notice::Several(count)) => *count += 1,
            _ if !is_full => self.queue.push_back(Notice::One(news, round.clone())),
            _ => self.queue.push_back(Notice::Several(1)),
        }
        self.start_waiting();
    }

    /// A program has ended.
    pub(in crate::watch) fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.start_waiting();
    }

    /// Whether nothing waits to be told.
    pub(in crate::watch) fn is_done(&self) -> bool {
        self.queue.is_empty()
    }

    /// When to call [`Self::start_waiting`] again.
    pub(in crate::watch) fn deadline(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Starts as many programs as may run.
    pub(in crate::watch) fn start_waiting(&mut self) {
        if self.retry_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        while self.running < AT_ONCE
            && let Some(notice) = self.queue.pop_front()
        {
            match self.start(&notice) {
                Ok(started) => {
                    self.running += usize::from(started);
                    self.retry_at = None;
                }
                Err(e) if e.is_shortage() => {
                    if self.retry_at.is_none() {
                        log::error(&e);
                    }
                    self.retry_at = Some(Instant::now() + RETRY_AFTER);
                    self.queue.push_front(notice);
                    return;
                }
                Err(e) => log::error(&e),
            }
        }
    }

    /// Returns whether there is still something to tell.
    fn start(&self, notice: &Notice) -> Result<bool> {
        let notification = match notice {
            Notice::One(news, round) => self.of_one(*news, round)?,
            Notice::Several(count) => self.of_several(*count)?,
        };
        let Some(notification) = notification else { return Ok(false) };
        let sender = self.sender.clone();
        notification::start(&self.config, notification, move || drop(sender.send(WatchMessage::NotifierEnded))).map(|()| true)
    }

    /// `None` if the question was answered meanwhile, or waits for no person.
    fn of_one(&self, news: News, round: &RoundId) -> Result<Option<Notification>> {
        let document = match read_question::pending(&self.mailbox, &round.workflow) {
            Err(e) if e.is_missing_file() => return Ok(None),
            other => other?,
        };
        if document.typed.until.is_some() || round::of_pending(&self.mailbox, &document.typed)? != *round {
            return Ok(None);
        }
        Ok(Some(Notification {
            event: news.word(),
            workflow: round.workflow.to_string(),
            question: text::excerpt(&document.typed.title(), 400),
            document: document.to_bytes(),
        }))
    }

    /// `None` if every question was answered meanwhile.
    fn of_several(&self, count: usize) -> Result<Option<Notification>> {
        let events = timers::waiting_for_events(&self.mailbox)?;
        let waiting = list::workflows(&self.mailbox, Folder::Pending)?.iter().filter(|w| !events.contains(w)).count();
        if waiting == 0 {
            return Ok(None);
        }
        let question = format!("{waiting} questions wait for an answer: ask-answer list");
        let document = json!({ "question": question, "waiting": waiting, "notifications": count });
        Ok(Some(Notification { event: "several", workflow: String::new(), question, document: document.to_string().into_bytes() }))
    }
}
