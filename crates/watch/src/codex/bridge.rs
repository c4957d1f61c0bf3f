//! All requests of one connection to the daemon.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::codex::client::Client;
use crate::codex::dialog::{ANSWERED, Call, Dialog, Office};
use crate::codex::news;
use crate::codex::reply::Sign;
use crate::codex::request::Request;
use crate::codex::telling::Telling;
use crate::codex::threads::Threads;
use crate::codex::waking::{JobId, Waking};
use crate::codex::wire::{self, Incoming, Item, RequestId, Status, ThreadId};
use askbox_mailbox::error::Result;
use askbox_mailbox::wake;
use askbox_run::log;

/// How often the mailbox is looked at while a dialog is open.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest wait for a message while a session may be woken.
const READY: Duration = Duration::from_millis(400);
/// The longest wait for a message otherwise.
const REST: Duration = Duration::from_secs(1);
/// How long the daemon may take to answer the first request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before a session that waits is asked for again, if the daemon did not give its requests.
const AGAIN: Duration = Duration::from_secs(30);
/// The most messages that are handled before the mailbox is looked at again.
const AT_ONCE: usize = 100;

const LOST: &str = "the connection to codex's daemon is lost: the daemon has ended, or the dialog is still open at its terminal";
const STOPPED: &str = "the watcher that connects to codex has ended: the dialog is still open at its terminal";

/// The subject of a request of ours.
enum Sent {
    /// The sessions that the daemon has loaded.
    Loaded,
    /// The status of a session.
    Read,
    /// The requests of a session. If the newest turn cannot be had, they are asked for without it.
    Resume { thread: ThreadId, with_turn: bool },
    /// A step on the way to a session's turn with its news.
    Wake(JobId),
    /// A request whose answer does not matter.
    Other(&'static str),
}

/// One connection and its requests.
pub(super) struct Bridge<'a> {
    office: Office<'a>,
    client: Client,
    next_id: u64,
    sent: HashMap<u64, Sent>,
    threads: Threads,
    /// Sessions that wait for their user, and whose requests are not sent to this client yet. When to ask for them again.
    waiting: HashMap<ThreadId, Instant>,
    dialogs: HashMap<(ThreadId, RequestId), Dialog>,
    waking: Waking,
    /// The sessions that the daemon has named.
    seen: HashSet<ThreadId>,
}

impl<'a> Bridge<'a> {
    /// Introduces this client to the daemon.
    ///
    /// # Errors
    /// If the connection is lost, or the daemon does not answer as expected.
    pub(super) fn begin(office: Office<'a>, mut client: Client) -> Result<Self> {
        client.introduce(Instant::now() + PATIENCE)?;
        news::begin(office.mailbox).unwrap_or_else(|e| log::error(&e));
        Telling::note_all_left(office.mailbox);
        let (sent, waiting, dialogs) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut bridge = Self {
            office,
            client,
            next_id: 1,
            sent,
            threads: Threads::default(),
            waiting,
            dialogs,
            waking: Waking::default(),
            seen: HashSet::new(),
        };
        bridge.request("thread/loaded/list", json!({}), Sent::Loaded)?;
        Ok(bridge)
    }

    /// Serves the daemon's sessions until the other end of `stop` is gone.
    ///
    /// # Errors
    /// If the connection is lost. All questions are withdrawn then.
    pub(super) fn serve(mut self, stop: &Receiver<()>) -> Result<()> {
        loop {
            if stop.try_recv() != Err(TryRecvError::Empty) {
                self.end_all(STOPPED);
                return Ok(());
            }
            if let Err(e) = self.pass() {
                self.end_all(LOST);
                return Err(e);
            }
        }
    }

    fn end_all(&mut self, how: &str) {
        let office = self.office;
        self.dialogs.values_mut().for_each(|dialog| dialog.end(office, how));
        self.waking.end(office);
    }

    /// Waits for messages, handles them, and does what is due.
    fn pass(&mut self) -> Result<()> {
        let rest = if self.waking.has_threads() { READY } else { REST };
        let mut wait = if self.dialogs.is_empty() && self.waiting.is_empty() { rest } else { LOOK_EVERY };
        for _ in 0..AT_ONCE {
            let Some(message) = self.client.receive(wait)? else { break };
            self.handle(message)?;
            wait = Duration::ZERO;
        }
        let now = Instant::now();
        let due: Vec<_> = self.waiting.iter().filter(|(_, at)| **at <= now).map(|(thread, _)| thread.clone()).collect();
        for thread in due {
            self.resume(thread, true)?;
        }
        let mut calls: Vec<Call> = Vec::new();
        for dialog in self.dialogs.values_mut() {
            calls.extend(dialog.tick(self.office, &self.threads, &mut self.client)?);
        }
        calls.into_iter().try_for_each(|(method, params)| self.request(method, params, Sent::Other(method)))?;
        match self.waking.tick(self.office) {
            Some((job, (method, params))) => self.request(method, params, Sent::Wake(job)),
            None => Ok(()),
        }
    }

    /// Lets a session of the daemon take its answers from now on.
    fn sees(&mut self, thread: &ThreadId) {
        if let Ok(id) = thread.parse()
            && self.seen.insert(thread.clone())
        {
            wake::begin_codex(self.office.mailbox, &id).unwrap_or_else(|e| log::error(&e));
        }
    }

    /// Takes the reply to a step on the way to a session's turn.
    fn wakes(&mut self, job: JobId, result: Result<Value, String>) -> Result<()> {
        let next = self.waking.answered(self.office, job, result);
        if let Some(thread) = next.loaded {
            self.threads.add(thread, Vec::new());
        }
        next.calls.into_iter().try_for_each(|(method, params)| self.request(method, params, Sent::Wake(job)))
    }

    fn request(&mut self, method: &str, params: Value, about: Sent) -> Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        self.sent.insert(id, about);
        self.client.send(wire::request(id, method, &params))
    }

    /// Asks for the requests of a session that waits. Nothing of the session is changed.
    fn resume(&mut self, thread: ThreadId, with_turn: bool) -> Result<()> {
        self.waiting.insert(thread.clone(), Instant::now() + AGAIN);
        let mut params = json!({ "threadId": thread, "excludeTurns": true });
        if with_turn {
            // A request to change files does not say which. The turn's items do.
            params["initialTurnsPage"] = json!({ "limit": 1, "sortDirection": "desc", "itemsView": "full" });
        }
        self.request("thread/resume", params, Sent::Resume { thread, with_turn })
    }

    fn handle(&mut self, message: Incoming) -> Result<()> {
        match message {
            Incoming::Response { id, result } => {
                if let Some(about) = self.sent.remove(&id) {
                    self.answered(about, result)?;
                }
            }
            Incoming::Request { id, method, params } => match Request::read(&method, &params) {
                Some(request) => {
                    let key = (request.thread.clone(), id.clone());
                    self.dialogs.entry(key).or_insert_with(|| Dialog::new(id, request));
                }
                // A reply, even an error, would deny it and take the dialog away from the person.
                None => tracing::debug!(method, "a request of codex is left to its terminal"),
            },
            Incoming::Resolved { thread, request } => self.resolved(thread, request),
            Incoming::Status { thread, status } => self.status(thread, &status)?,
            Incoming::ItemStarted { thread, item } => self.threads.begin(&thread, item),
            Incoming::ItemCompleted { thread, item } => self.item_ended(&thread, &item),
            Incoming::TurnCompleted { thread, interrupted } => self.sign(&thread, |_| Some(Sign::TurnEnded { interrupted })),
            Incoming::Other => {}
        }
        Ok(())
    }

    fn answered(&mut self, about: Sent, result: Result<Value, String>) -> Result<()> {
        match (about, result) {
            (Sent::Loaded, Ok(result)) => {
                let ids = result["data"].as_array().into_iter().flatten().filter_map(Value::as_str);
                for id in ids {
                    self.sees(&id.to_owned());
                    self.request("thread/read", json!({ "threadId": id }), Sent::Read)?;
                }
            }
            (Sent::Read, Ok(result)) => {
                if let Some(thread) = wire::thread(&result).filter(|thread| thread.status.waits()) {
                    self.resume(thread.id, true)?;
                }
            }
            (Sent::Wake(job), result) => self.wakes(job, result)?,
            (Sent::Resume { thread: id, .. }, Ok(result)) => {
                self.waiting.remove(&id);
                if let Some(thread) = wire::thread(&result) {
                    self.threads.add(thread, wire::newest_items(&result));
                }
            }
            (Sent::Resume { thread, with_turn: true }, Err(_)) => self.resume(thread, false)?,
            (Sent::Resume { thread, with_turn: false }, Err(why)) => {
                tracing::warn!(thread, "codex does not give the requests of a session: {why}");
            }
            (Sent::Other(method), Err(why)) => tracing::warn!(method, "codex refused a request: {why}"),
            (Sent::Loaded | Sent::Read, Err(why)) => tracing::warn!("codex does not list its sessions: {why}"),
            (Sent::Other(_), Ok(_)) => {}
        }
        Ok(())
    }

    fn resolved(&mut self, thread: ThreadId, request: RequestId) {
        let key = (thread, request);
        if let Some(dialog) = self.dialogs.get_mut(&key) {
            dialog.take(self.office, Sign::Resolved);
            if !dialog.is_replied() {
                self.dialogs.remove(&key);
            }
        }
    }

    fn status(&mut self, thread: ThreadId, status: &Status) -> Result<()> {
        self.sees(&thread);
        if status.waits() {
            if self.threads.get(&thread).is_none() && !self.waiting.contains_key(&thread) {
                self.resume(thread, true)?;
            }
            return Ok(());
        }
        self.waiting.remove(&thread);
        if *status == Status::Resting {
            self.waking.rested();
        }
        // No dialog of the session is open any more. Other signs tell what became of a reply.
        let office = self.office;
        let of_thread = self.dialogs.iter_mut().filter(|((of, _), dialog)| *of == thread && !dialog.is_replied());
        of_thread.for_each(|(_, dialog)| dialog.end(office, ANSWERED));
        self.dialogs.retain(|(of, _), dialog| *of != thread || dialog.is_replied());
        let is_at_rest = matches!(status, Status::Resting | Status::NotLoaded);
        if is_at_rest && !self.dialogs.keys().any(|(of, _)| *of == thread) && self.threads.remove(&thread) {
            // Otherwise the daemon would keep the session loaded for this client.
            self.request("thread/unsubscribe", json!({ "threadId": thread }), Sent::Other("thread/unsubscribe"))?;
        }
        Ok(())
    }

    fn item_ended(&mut self, thread: &ThreadId, item: &Item) {
        self.threads.end(thread, item);
        let sign = match item.status.as_deref() {
            Some("completed" | "failed") => Sign::Made,
            Some("declined") => Sign::Refused,
            _ => return,
        };
        self.sign(thread, |request| (request.item == item.id).then_some(sign));
    }

    /// Gives a sign to the dialogs of a session that it is about.
    fn sign(&mut self, thread: &ThreadId, about: impl Fn(&Request) -> Option<Sign>) {
        let office = self.office;
        for (_, dialog) in self.dialogs.iter_mut().filter(|((of, _), _)| of == thread) {
            if let Some(sign) = about(dialog.request()) {
                dialog.take(office, sign);
            }
        }
    }
}
