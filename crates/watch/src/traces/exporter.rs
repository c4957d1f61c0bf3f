//! The thread that finds the rounds that have ended, and sends their spans.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::outgoing::call::{self, Limit};
use crate::outgoing::curl;
use crate::traces::queue::Queue;
use crate::traces::tally::Tally;
use crate::traces::{otlp, spans};
use askbox_config::Config;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, Mailbox, document, round, thread};
use askbox_run::log;

/// The most messages that wait for the thread.
const MESSAGES: usize = 10_000;
/// The most open rounds that are followed.
const OPEN: usize = 100_000;
/// The number of ended rounds that are remembered, so that none is sent twice.
const ENDED: usize = 1000;
/// How often to look if another watcher still sends, and if a round in the hands of another process has ended.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long the end of the watcher waits for a last request.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// A message to the thread.
enum Note {
    /// Something may have happened to a workflow.
    Look(WorkflowId),
    /// The run of a round has ended.
    Ended(RoundId),
    /// A request has ended.
    Sent(Result<(), String>),
    Leave,
}

/// The thread as the watcher sees it. Nothing here waits.
#[derive(Debug, Default)]
pub(crate) struct Exporter {
    thread: Option<(SyncSender<Note>, JoinHandle<()>)>,
    /// The values to start with, as long as the system has no thread to spare.
    waiting: Option<(Mailbox, Config)>,
    retry_at: Option<Instant>,
    /// The messages that found no room.
    missed: Arc<AtomicU64>,
}

impl Exporter {
    /// Sends spans to the collector of the configuration, once [`Self::keep_at_work`] has started the thread.
    pub(crate) fn new(mailbox: &Mailbox, config: &Config) -> Self {
        let mut exporter = Self::default();
        exporter.waiting = config.traces.are_sent().then(|| (mailbox.clone(), config.clone()));
        exporter
    }

    /// Starts the thread, if there is a collector. If the system has no thread to spare, it is tried again later.
    pub(crate) fn keep_at_work(&mut self) {
        let Some((mailbox, config)) = &self.waiting else { return };
        if self.retry_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        let (sender, notes) = mpsc::sync_channel(MESSAGES);
        let office = Office::new(mailbox.clone(), config.clone(), sender.clone(), Arc::clone(&self.missed));
        match thread::start(move || office.run(&notes)) {
            Ok(thread) => (self.thread, self.waiting) = (Some((sender, thread)), None),
            Err(e) => {
                log::error(&e);
                self.retry_at = Some(Instant::now() + LOOK_EVERY);
            }
        }
    }

    /// Reports that something may have happened to this workflow.
    pub(crate) fn look(&self, workflow: &WorkflowId) {
        self.send(|| Note::Look(workflow.clone()));
    }

    /// Reports that the run of a round has ended.
    pub(crate) fn ended(&self, round: &RoundId) {
        self.send(|| Note::Ended(round.clone()));
    }

    fn send(&self, note: impl FnOnce() -> Note) {
        if let Some((sender, _)) = &self.thread
            && sender.try_send(note()).is_err()
        {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            let _ = sender.send(Note::Leave);
            let _ = thread.join();
        }
    }
}

struct Office {
    mailbox: Mailbox,
    config: Config,
    sender: SyncSender<Note>,
    missed: Arc<AtomicU64>,
    /// Held by the watcher that sends.
    lock: Option<Lock>,
    /// The open rounds, by their workflow, and where each was last seen.
    open: HashMap<WorkflowId, Vec<(RoundId, Folder)>>,
    ended: VecDeque<RoundId>,
    queue: Queue,
    tally: Tally,
    /// The counts as they lie on the disk.
    written: Tally,
}

impl Office {
    fn new(mailbox: Mailbox, config: Config, sender: SyncSender<Note>, missed: Arc<AtomicU64>) -> Self {
        let (tally, written) = (Tally::default(), Tally::default());
        let queue = Queue::new(Instant::now());
        Self { mailbox, config, sender, missed, lock: None, open: HashMap::new(), ended: VecDeque::new(), queue, tally, written }
    }

    fn run(mut self, notes: &Receiver<Note>) {
        let mut wait = Duration::ZERO;
        let mut look_around_at = Instant::now();
        loop {
            let first = match notes.recv_timeout(wait) {
                Ok(note) => Some(note),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut look = BTreeSet::new();
            for note in first.into_iter().chain(notes.try_iter()) {
                match note {
                    Note::Look(workflow) => drop(look.insert(workflow)),
                    Note::Ended(round) => self.end(&round),
                    Note::Sent(result) => self.sent(result),
                    Note::Leave => return self.leave(notes),
                }
            }
            look.extend(self.take_lock());
            let now = Instant::now();
            if now >= look_around_at {
                look_around_at = now + LOOK_EVERY;
                look.extend(self.in_other_hands());
            }
            if self.lock.is_some() {
                look.iter().for_each(|workflow| self.look(workflow));
            }
            self.send();
            self.write_tally();
            let due = self.queue.deadline().into_iter().chain([look_around_at]).min();
            wait = due.map_or(LOOK_EVERY, |at| at.saturating_duration_since(Instant::now()));
        }
    }

    /// Takes the right to send, if no other watcher has it. Returns the workflows whose rounds are followed from now on.
    fn take_lock(&mut self) -> Vec<WorkflowId> {
        if self.lock.is_some() {
            return Vec::new();
        }
        self.lock = Lock::try_acquire(&self.mailbox.lock_file("traces")).unwrap_or_default();
        if self.lock.is_none() {
            return Vec::new();
        }
        self.tally = Tally::read(&self.mailbox).unwrap_or_default();
        self.written = self.tally.clone();
        // The questions in `pending/` may be many. Each is looked at when something happens to it.
        let answered = list::workflows(&self.mailbox, Folder::Answered).unwrap_or_default();
        let claimed = [Folder::Running, Folder::Parked].into_iter().flat_map(|folder| list::round_names(&self.mailbox, folder));
        answered.into_iter().chain(claimed.map(|round| round.workflow)).collect()
    }

    /// The workflows with a claimed round. If another process works on the round, this watcher gets no message at its end.
    fn in_other_hands(&self) -> Vec<WorkflowId> {
        let runs = |rounds: &Vec<(RoundId, Folder)>| rounds.iter().any(|(_, folder)| *folder == Folder::Running);
        self.open.iter().filter(|(_, rounds)| runs(rounds)).map(|(workflow, _)| workflow.clone()).collect()
    }

    /// Brings the open rounds of a workflow up to date.
    fn look(&mut self, workflow: &WorkflowId) {
        let open = round::open_of_workflow(&self.mailbox, workflow).into_iter().map(|round| (round.id, round.folder)).collect::<Vec<_>>();
        let before = self.open.remove(workflow).unwrap_or_default();
        let over: Vec<RoundId> = before.into_iter().map(|(id, _)| id).filter(|id| open.iter().all(|(now, _)| now != id)).collect();
        over.iter().for_each(|round| self.end(round));
        if open.is_empty() {
            return;
        }
        if self.open.len() < OPEN {
            self.open.insert(workflow.clone(), open);
        } else {
            self.tally.lost += 1;
        }
    }

    /// Queues the spans of a round, if it has ended.
    fn end(&mut self, round: &RoundId) {
        if self.lock.is_none() || self.ended.contains(round) {
            return;
        }
        let Some(found) = round::in_closed(&self.mailbox, round) else { return };
        if self.ended.len() >= ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back(round.clone());
        if let Some(spans) = spans::of_round(&self.mailbox, &self.config, round, &found.document.typed)
            && !self.queue.add(spans)
        {
            self.tally.lost += 1;
        }
    }

    /// Starts a request, if one is due.
    fn send(&mut self) {
        let Some(spans) = self.queue.begin(Instant::now()) else { return };
        let started = start_request(&self.config, &spans, self.sender.clone());
        if let Err(e) = started {
            self.sent(Err(e.to_string()));
        }
    }

    fn sent(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => {
                let taken = self.queue.taken();
                self.tally.note_sent(taken);
            }
            Err(problem) => {
                tracing::warn!(event = "traces", "spans could not be sent: {problem}");
                self.tally.note_failed(&problem);
                self.tally.lost += self.queue.failed(Instant::now()) as u64;
            }
        }
    }

    /// Gives the rounds that wait one more chance.
    fn leave(&mut self, notes: &Receiver<Note>) {
        let end = Instant::now() + LEAVE_WITHIN;
        self.queue.hurry(Instant::now());
        self.send();
        while self.queue.is_under_way() {
            match notes.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Note::Sent(Ok(()))) => {
                    self.sent(Ok(()));
                    self.send();
                }
                Ok(Note::Sent(result)) => {
                    self.sent(result);
                    break;
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.tally.lost += self.queue.len() as u64;
        self.write_tally();
    }

    fn write_tally(&mut self) {
        self.tally.lost += self.missed.swap(0, Ordering::Relaxed);
        if self.lock.is_some() && self.tally != self.written {
            match self.tally.write(&self.mailbox) {
                Ok(()) => self.written = self.tally.clone(),
                Err(e) => log::error(&e),
            }
        }
    }
}

/// Starts the request with these spans. Its end is a message.
fn start_request(config: &Config, spans: &[&spans::Span], sender: SyncSender<Note>) -> Result<()> {
    let traces = &config.traces;
    let body = String::from_utf8_lossy(&document::to_json(&otlp::request(spans))?).into_owned();
    let secret = curl::secret_headers("traces.headers_file", &traces.headers_file)?;
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(secret.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let limit = Limit { key: "traces.time_limit", time: traces.time_limit.0 };
    call::start(curl::post(&traces.url, &headers, &body), limit, move |result| drop(sender.send(Note::Sent(result))))
}
