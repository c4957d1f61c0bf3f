//! Finds the rounds that have ended, and sends their spans.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crate::call::{self, Limit};
use crate::curl;
use crate::traces::queue::Queue;
use crate::traces::{otlp, spans};
use askbox_config::Config;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::{Folder, Mailbox, document, round, thread};
use askbox_run::log;
use askbox_watch::traces::{Tally, TraceLine};

/// The most messages that wait for the exporter.
const MESSAGES: usize = 10_000;
/// The most open rounds that are followed.
const OPEN: usize = 100_000;
/// The number of ended rounds that are remembered, so that none is sent twice.
const ENDED: usize = 1000;
/// How often to look if another process still sends, and if a round in the hands of another process has ended.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long the end of the watcher waits for a last request.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// What wakes the exporter.
enum Note {
    /// A line of the watcher.
    Line(TraceLine),
    /// A request has ended.
    Sent(Result<(), String>),
    Leave,
}

/// Sends the spans of rounds that end, until the watcher closes the input.
///
/// # Errors
/// If the system has no thread to spare.
pub fn run(mailbox: Mailbox, config: Config) -> Result<u8> {
    let (sender, notes) = mpsc::sync_channel(MESSAGES);
    let input = sender.clone();
    thread::start(move || {
        let lines = std::io::stdin().lock().lines().map_while(std::io::Result::ok);
        lines.filter_map(|line| document::json(line.as_bytes())).for_each(|line| drop(input.send(Note::Line(line))));
        let _ = input.send(Note::Leave);
    })?;
    Office::new(mailbox, config, sender).run(&notes);
    Ok(0)
}

struct Office {
    mailbox: Mailbox,
    config: Config,
    sender: SyncSender<Note>,
    /// Held by the process that sends.
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
    fn new(mailbox: Mailbox, config: Config, sender: SyncSender<Note>) -> Self {
        let (tally, written) = (Tally::default(), Tally::default());
        let queue = Queue::new(Instant::now());
        Self { mailbox, config, sender, lock: None, open: HashMap::new(), ended: VecDeque::new(), queue, tally, written }
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
                    Note::Line(TraceLine::Look(workflow)) => drop(look.insert(workflow)),
                    Note::Line(TraceLine::Ended(workflow, question)) => self.end(&RoundId { workflow, question }),
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
