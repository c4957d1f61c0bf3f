//! Finds the rounds that have ended, and sends their spans.
//!
//! The rounds that wait to be sent, and when the next request is due. This is a state machine without a clock of its own.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::BufRead;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::call::{self, Limit};
use crate::curl;
use crate::traces::spans;
use askbox_config::Config;
use askbox_mailbox::{Folder, Lock, Mailbox, Result, RoundId, WorkflowId, document, list, round, text, thread, time};
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
                let runs = |rounds: &Vec<(RoundId, Folder)>| rounds.iter().any(|(_, folder)| *folder == Folder::Running);
                look.extend(self.open.iter().filter(|(_, rounds)| runs(rounds)).map(|(workflow, _)| workflow.clone()));
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
                self.tally.sent += self.queue.taken() as u64;
                self.tally.sent_at = Some(time::now());
            }
            Err(problem) => {
                tracing::warn!(event = "traces", "spans could not be sent: {problem}");
                (self.tally.failed_at, self.tally.problem) = (Some(time::now()), Some(text::excerpt(&problem, 300)));
                self.tally.lost += self.queue.failed(Instant::now()) as u64;
            }
        }
    }

    /// Gives the rounds that wait one more chance.
    fn leave(&mut self, notes: &Receiver<Note>) {
        let end = Instant::now() + LEAVE_WITHIN;
        self.queue.not_before = Instant::now();
        self.send();
        while self.queue.under_way > 0 {
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
        self.tally.lost += self.queue.rounds.len() as u64;
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
fn start_request(config: &Config, spans: &[&Json], sender: SyncSender<Note>) -> Result<()> {
    let traces = &config.traces;
    let body = String::from_utf8_lossy(&document::to_json(&request(spans))?).into_owned();
    let secret = curl::secret_headers("traces.headers_file", &traces.headers_file)?;
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(secret.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let limit = Limit { key: "traces.time_limit", time: traces.time_limit.0 };
    call::start(curl::post(&traces.url, &headers, &body), limit, move |result| drop(sender.send(Note::Sent(result))))
}

/// The body of a request.
fn request(spans: &[&Json]) -> Json {
    let version = env!("CARGO_PKG_VERSION");
    let resource =
        [("service.name", "askbox"), ("service.version", version)].map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}));
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "askbox", "version": version}, "spans": spans}],
    }]})
}

/// The most rounds that wait.
const LONGEST: usize = 1000;
/// The most rounds of one request.
const AT_ONCE: usize = 50;
/// How often the same rounds are sent, if the collector does not take them.
const TRIES: u32 = 5;
/// The pause behind the first request that failed. Each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The rounds that wait, the oldest first.
struct Queue {
    rounds: VecDeque<Vec<Json>>,
    /// The number of rounds at the front that a request under way has.
    under_way: usize,
    failures: u32,
    not_before: Instant,
}

impl Queue {
    pub(super) fn new(now: Instant) -> Self {
        Self { rounds: VecDeque::new(), under_way: 0, failures: 0, not_before: now }
    }

    /// Adds a round. Returns false if the queue is full.
    pub(super) fn add(&mut self, round: Vec<Json>) -> bool {
        let has_room = self.rounds.len() < LONGEST;
        if has_room {
            self.rounds.push_back(round);
        }
        has_room
    }

    /// The spans of the next request, if one is due. It is under way from now on.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Vec<&Json>> {
        if self.under_way > 0 || self.rounds.is_empty() || now < self.not_before {
            return None;
        }
        self.under_way = self.rounds.len().min(AT_ONCE);
        Some(self.rounds.iter().take(self.under_way).flatten().collect())
    }

    /// The request has ended: the collector has its rounds. Returns their number.
    pub(super) fn taken(&mut self) -> usize {
        self.failures = 0;
        self.drop_first()
    }

    /// The request has failed. Returns the number of rounds that are given up.
    pub(super) fn failed(&mut self, now: Instant) -> usize {
        self.failures += 1;
        self.not_before = now + FIRST_PAUSE * 2_u32.pow(self.failures.saturating_sub(1).min(TRIES));
        if self.failures < TRIES {
            self.under_way = 0;
            return 0;
        }
        self.failures = 0;
        self.drop_first()
    }

    fn drop_first(&mut self) -> usize {
        let gone = std::mem::take(&mut self.under_way);
        self.rounds.drain(..gone.min(self.rounds.len()));
        gone
    }

    /// When the next request is due; `None` if nothing waits, or while one is under way.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.under_way == 0 && !self.rounds.is_empty()).then_some(self.not_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(rounds: usize, now: Instant) -> Queue {
        let mut queue = Queue::new(now);
        (0..rounds).for_each(|_| assert!(queue.add(vec![Json::default()])));
        queue
    }

    #[test]
    fn a_full_queue_of_spans_takes_no_more() {
        let now = Instant::now();
        let mut queue = filled(LONGEST, now);
        assert!(!queue.add(Vec::new()));
        assert_eq!(queue.begin(now).map(|spans| spans.len()), Some(AT_ONCE));
        assert_eq!(queue.begin(now), None, "one request at a time");
        assert_eq!(queue.taken(), AT_ONCE);
        assert!(queue.add(Vec::new()));
    }

    #[test]
    fn spans_are_given_up_after_five_requests_in_15_seconds() {
        let mut now = Instant::now();
        let begun = now;
        let mut queue = filled(2, now);
        for left in [0, 0, 0, 0, 2] {
            now = queue.deadline().unwrap();
            assert!(queue.begin(now).is_some());
            assert_eq!(queue.deadline(), None);
            assert_eq!(queue.failed(now), left);
            assert_eq!(queue.begin(now), None);
        }
        assert_eq!((queue.rounds.len(), now - begun), (0, Duration::from_secs(15)));
    }
}
