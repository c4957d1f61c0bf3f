//! All requests of one connection to the daemon.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::codex::asker::{Asker, Key, Open, Subject};
use crate::codex::client::Client;
use crate::codex::news;
use crate::codex::prompting::{self, Prompting};
use crate::codex::question::Sign;
use crate::codex::request::Request;
use crate::codex::telling::Telling;
use crate::codex::waking::{JobId, Next, Waking};
use crate::codex::wire::{self, Incoming, Item, Status, ThreadId};
use askbox_mailbox::programs::CODEX;
use askbox_mailbox::{Result, wake};
use askbox_run::asking::beside::{Dialogs, LOOK_EVERY};
use askbox_run::asking::receipt::End;
use askbox_run::{Desk, log};

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

/// One connection and its requests.
pub(super) struct Bridge<'a> {
    desk: Desk<'a>,
    asker: Asker,
    dialogs: Dialogs<Key>,
    /// Sessions that wait for their user, and whose requests are not sent to this client yet. When to ask for them again.
    waiting: HashMap<ThreadId, Instant>,
    waking: Waking,
    prompting: Prompting,
    /// The sessions that the daemon has named.
    seen: HashSet<ThreadId>,
}

impl<'a> Bridge<'a> {
    /// Introduces this client to the daemon.
    ///
    /// # Errors
    /// If the connection is lost, or the daemon does not answer as expected.
    pub(super) fn begin(desk: Desk<'a>, mut client: Client) -> Result<Self> {
        client.introduce(Instant::now() + PATIENCE)?;
        news::begin(desk.mailbox).unwrap_or_else(|e| log::error(&e));
        Telling::note_all_left(desk.mailbox);
        let prompting = Prompting::begin(desk.mailbox);
        let (dialogs, waiting, waking, seen) = (Dialogs { open: HashMap::new() }, HashMap::new(), Waking::default(), HashSet::new());
        let mut bridge = Self { desk, asker: Asker::new(client), dialogs, waiting, waking, prompting, seen };
        bridge.asker.request("thread/loaded/list", json!({}), Subject::Loaded)?;
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
        self.dialogs.end_all(self.desk, how, |_| true);
        self.waking.end(self.desk);
    }

    /// Waits for messages, handles them, and does what is due.
    fn pass(&mut self) -> Result<()> {
        let rest = if self.waking.has_threads { READY } else { REST };
        let mut wait = if self.dialogs.open.is_empty() && self.waiting.is_empty() { rest } else { LOOK_EVERY };
        for _ in 0..AT_ONCE {
            let Some(message) = self.asker.client.receive(wait)? else { break };
            self.handle(message)?;
            wait = Duration::ZERO;
        }
        let now = Instant::now();
        let due: Vec<_> = self.waiting.iter().filter(|(_, at)| **at <= now).map(|(thread, _)| thread.clone()).collect();
        for thread in due {
            self.resume(thread, true)?;
        }
        self.dialogs.look(self.desk, &mut self.asker)?;
        self.asker.open.retain(|key, _| self.dialogs.open.contains_key(key));
        if !self.waking.awaits_reply()
            && let Some((job, (method, params))) = self.prompting.tick(self.desk.mailbox)
        {
            return self.asker.request(method, params, Subject::Prompt(job));
        }
        if self.prompting.awaits_reply() {
            return Ok(());
        }
        match self.waking.tick(self.desk) {
            Some((job, (method, params))) => self.asker.request(method, params, Subject::Wake(job)),
            None => Ok(()),
        }
    }

    /// Lets a session of the daemon take its answers from now on.
    fn sees(&mut self, thread: &ThreadId) {
        if let Ok(id) = thread.parse()
            && self.seen.insert(thread.clone())
        {
            wake::begin_codex(self.desk.mailbox, &id).unwrap_or_else(|e| log::error(&e));
        }
    }

    /// Takes the reply to a step on the way to a session's turn.
    fn wakes(&mut self, job: JobId, result: Result<Value, String>) -> Result<()> {
        let next = self.waking.answered(self.desk, job, result);
        self.goes_on(next, || Subject::Wake(job))
    }

    /// Takes the reply to a step on the way of a prompt.
    fn prompts(&mut self, job: prompting::JobId, result: Result<Value, String>) -> Result<()> {
        let next = self.prompting.answered(self.desk.mailbox, job, result);
        self.goes_on(next, || Subject::Prompt(job))
    }

    fn goes_on(&mut self, next: Next, about: impl Fn() -> Subject) -> Result<()> {
        if let Some(thread) = next.loaded {
            self.asker.threads.add(thread, Vec::new());
        }
        next.calls.into_iter().try_for_each(|(method, params)| self.asker.request(method, params, about()))
    }

    /// Asks for the requests of a session that waits. Nothing of the session is changed.
    fn resume(&mut self, thread: ThreadId, with_turn: bool) -> Result<()> {
        self.waiting.insert(thread.clone(), Instant::now() + AGAIN);
        let mut params = json!({ "threadId": thread, "excludeTurns": true });
        if with_turn {
            // A request to change files does not say which. The turn's items do.
            params["initialTurnsPage"] = json!({ "limit": 1, "sortDirection": "desc", "itemsView": "full" });
        }
        self.asker.request("thread/resume", params, Subject::Resume { thread, with_turn })
    }

    fn handle(&mut self, message: Incoming) -> Result<()> {
        match message {
            Incoming::Response { id, result } => {
                if let Some(about) = self.asker.sent.remove(&id) {
                    self.answered(about, result)?;
                }
            }
            Incoming::Request { id, method, params } => match Request::read(&method, &params) {
                Some(request) => {
                    let key = (request.thread.clone(), id);
                    self.asker.open.entry(key.clone()).or_insert_with(|| Open::new(request));
                    self.dialogs.open(self.desk, key);
                }
                // A reply, even an error, would deny it and take the dialog away from the person.
                None => tracing::debug!(method, "a request of codex is left to its terminal"),
            },
            Incoming::Resolved { thread, request } => self.signed(&(thread, request), Sign::Resolved),
            Incoming::Status { thread, status } => self.status(thread, &status)?,
            Incoming::ItemStarted { thread, item } => {
                self.prompting.item(self.desk.mailbox, &item);
                self.asker.threads.begin(&thread, item);
            }
            Incoming::ItemCompleted { thread, item } => self.item_ended(&thread, &item),
            Incoming::TurnCompleted { thread, turn } => {
                self.sign(&thread, |_| Some(Sign::TurnEnded { interrupted: turn.status == "interrupted" }));
                if self.prompting.turn(self.desk.mailbox, &turn) {
                    self.leave(&thread)?;
                }
            }
            Incoming::Other => {}
        }
        Ok(())
    }

    fn answered(&mut self, about: Subject, result: Result<Value, String>) -> Result<()> {
        match (about, result) {
            (Subject::Loaded, Ok(result)) => {
                let ids = result["data"].as_array().into_iter().flatten().filter_map(Value::as_str);
                for id in ids {
                    self.sees(&id.to_owned());
                    self.asker.request("thread/read", json!({ "threadId": id }), Subject::Read)?;
                }
            }
            (Subject::Read, Ok(result)) => {
                if let Some(thread) = wire::thread(&result).filter(|thread| thread.status.waits()) {
                    self.resume(thread.id, true)?;
                }
            }
            (Subject::Wake(job), result) => self.wakes(job, result)?,
            (Subject::Prompt(job), result) => self.prompts(job, result)?,
            (Subject::Resume { thread: id, .. }, Ok(result)) => {
                self.waiting.remove(&id);
                if let Some(thread) = wire::thread(&result) {
                    self.asker.threads.add(thread, wire::newest_items(&result));
                }
            }
            (Subject::Resume { thread, with_turn: true }, Err(_)) => self.resume(thread, false)?,
            (Subject::Resume { thread, with_turn: false }, Err(why)) => {
                tracing::warn!(thread, "codex does not give the requests of a session: {why}");
            }
            (Subject::Other(method), Err(why)) => tracing::warn!(method, "codex refused a request: {why}"),
            (Subject::Loaded | Subject::Read, Err(why)) => tracing::warn!("codex does not list its sessions: {why}"),
            (Subject::Other(_), Ok(_)) => {}
        }
        Ok(())
    }

    fn status(&mut self, thread: ThreadId, status: &Status) -> Result<()> {
        self.sees(&thread);
        if status.waits() {
            if self.asker.threads.get(&thread).is_none() && !self.waiting.contains_key(&thread) {
                self.resume(thread, true)?;
            }
            return Ok(());
        }
        self.waiting.remove(&thread);
        if *status == Status::Resting {
            self.waking.rested();
            self.prompting.rested(self.desk.mailbox, &thread);
        }
        // No dialog of the session is open any more. Other signs tell what became of a reply.
        self.dialogs.end_all(self.desk, CODEX.answered, |(of, _)| *of == thread);
        if matches!(status, Status::Resting | Status::NotLoaded) { self.leave(&thread) } else { Ok(()) }
    }

    /// Leaves a session that rests, once nothing more is heard of it.
    fn leave(&mut self, thread: &ThreadId) -> Result<()> {
        let is_open = self.dialogs.open.keys().any(|(of, _)| of == thread) || self.prompting.is_in(thread);
        if !is_open && self.asker.threads.remove(thread) {
            // Otherwise the daemon would keep the session loaded for this client.
            self.asker.request("thread/unsubscribe", json!({ "threadId": thread }), Subject::Other("thread/unsubscribe"))?;
        }
        Ok(())
    }

    fn item_ended(&mut self, thread: &ThreadId, item: &Item) {
        self.asker.threads.end(thread, item);
        let sign = match item.status.as_deref() {
            Some("completed" | "failed") => Sign::Made,
            Some("declined") => Sign::Refused,
            _ => return,
        };
        self.sign(thread, |request| (request.item == item.id).then_some(sign));
    }

    /// Gives a sign to the dialogs of a session that it is about.
    fn sign(&mut self, thread: &ThreadId, about: impl Fn(&Request) -> Option<Sign>) {
        let of_thread = self.asker.open.iter().filter(|((of, _), _)| of == thread);
        let signs: Vec<_> = of_thread.filter_map(|(key, open)| Some((key.clone(), about(&open.request)?))).collect();
        signs.into_iter().for_each(|(key, sign)| self.signed(&key, sign));
    }

    /// Gives a sign to a dialog. A question that still waits then is withdrawn.
    fn signed(&mut self, key: &Key, sign: Sign) {
        match self.asker.open.get_mut(key).and_then(|open| open.take(sign)) {
            Some(End::NotKnownYet) => {}
            Some(end) => self.dialogs.take(self.desk, key, &end),
            None => self.dialogs.end(self.desk, key, CODEX.answered),
        }
    }
}
