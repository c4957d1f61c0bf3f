//! The daemon as a program that asks: one connection, and what is known of its sessions and requests.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::codex::client::Client;
use crate::codex::prompting;
use crate::codex::question;
use crate::codex::question::{Message, Receipt, Sign};
use crate::codex::request::Request;
use crate::codex::threads::Threads;
use crate::codex::waking::JobId;
use crate::codex::wire::{self, RequestId, ThreadId};
use askbox_mailbox::{Error, Result, RoundId};
use askbox_run::Reply;
use askbox_run::asking::beside::{Program, Sent};
use askbox_run::asking::receipt::End;
use askbox_run::asking::request;

/// How long the daemon may take to describe the session of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name of a dialog.
pub(super) type Key = (ThreadId, RequestId);

/// The subject of a request of ours.
pub(super) enum Subject {
    /// The sessions that the daemon has loaded.
    Loaded,
    /// The status of a session.
    Read,
    /// The requests of a session. If the newest turn cannot be had, they are asked for without it.
    Resume { thread: ThreadId, with_turn: bool },
    /// A step on the way to a session's turn with its news.
    Wake(JobId),
    /// A step on the way of a prompt.
    Prompt(prompting::JobId),
    /// A request whose answer does not matter.
    Other(&'static str),
}

/// A request of the daemon, and the receipt of the reply that was sent.
pub(super) struct Open {
    pub(super) request: Request,
    receipt: Option<Receipt>,
}

impl Open {
    /// A request that came now.
    pub(super) fn new(request: Request) -> Self {
        Self { request, receipt: None }
    }

    /// What a sign of the session tells of the reply. `None` if none was sent.
    pub(super) fn take(&mut self, sign: Sign) -> Option<End> {
        self.receipt.as_mut().map(|receipt| receipt.take(sign))
    }
}

/// One connection to the daemon.
pub(super) struct Asker {
    pub(super) client: Client,
    pub(super) threads: Threads,
    pub(super) open: HashMap<Key, Open>,
    pub(super) sent: HashMap<u64, Subject>,
    next_id: u64,
}

impl Asker {
    /// Over this connection, which was introduced.
    pub(super) fn new(client: Client) -> Self {
        Self { client, threads: Threads::default(), open: HashMap::new(), sent: HashMap::new(), next_id: 1 }
    }

    /// Sends a request of ours.
    pub(super) fn request(&mut self, method: &str, params: Value, about: Subject) -> Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        self.sent.insert(id, about);
        self.client.send(wire::request(id, method, &params))
    }

    fn tell(&mut self, method: &'static str, params: Value) -> Result<()> {
        self.request(method, params, Subject::Other(method))
    }
}

impl Program for Asker {
    type Key = Key;

    fn read(&mut self, key: &Key, age: Duration) -> Result<Option<request::Request>> {
        let (open, thread) = (self.open.get(key), self.threads.get(&key.0));
        match (open, thread) {
            (Some(open), Some(thread)) => question::request(&open.request, thread).map(Some),
            _ if age < PATIENCE => Ok(None),
            _ => Err(Error::failed("codex has not told to which session a request belongs", "answer it at its terminal")),
        }
    }

    fn write(&mut self, key: &Key, _: &request::Request, _: &RoundId, reply: Reply) -> Result<Sent> {
        let Some(open) = self.open.get_mut(key) else { return Ok(Sent::No("codex no longer asks".into())) };
        let Message { result, words, wanted } = Message::of(&open.request, reply);
        open.receipt = Some(Receipt::begin(wanted));
        let (thread, turn) = (open.request.thread.clone(), open.request.turn.clone());
        match result {
            Some(result) => self.client.send(wire::reply(&key.1, &result))?,
            None => self.tell("turn/interrupt", json!({ "threadId": thread, "turnId": turn }))?,
        }
        if let Some(words) = words {
            let input = json!([{ "type": "text", "text": words, "text_elements": [] }]);
            self.tell("turn/steer", json!({ "threadId": thread, "expectedTurnId": turn, "input": input }))?;
        }
        Ok(Sent::Yes)
    }
}
