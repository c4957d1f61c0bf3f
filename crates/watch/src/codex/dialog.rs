//! One request of the daemon.
//!
//! 1. *Grace*: the person at the terminal has the dialog for themselves.
//! 2. *Asked*: the question lies in the mailbox, and this process holds the lock of a waiter.
//! 3. *Replied*: the first answer was taken under the workflow's lock, and sent to the daemon. Or the daemon said that the request has
//!    ended, and the question was withdrawn.
//! 4. *Over*: the signs of the session said if it took the answer. An answer that it did not take came too late. Without a sign, the end
//!    stays open.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::codex::BY;
use crate::codex::client::Client;
use crate::codex::question::{self, Shown};
use crate::codex::reply::{Receipt, Reply, Sign, Wanted};
use crate::codex::request::Request;
use crate::codex::threads::Threads;
use crate::codex::wire::{self, RequestId};
use askbox_config::Config;
use askbox_mailbox::Mailbox;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::time::{self, Time};
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::dialog::beside::{Beside, Look};
use askbox_run::dialog::end::End;
use askbox_run::log;

/// How long the daemon may take to describe the session of a request.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) const ANSWERED: &str = "it was answered at its terminal, or by another client of codex";

/// The mailbox, and the operator's wishes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Office<'a> {
    pub(super) mailbox: &'a Mailbox,
    pub(super) config: &'a Config,
}

/// A request of the daemon, and what has become of it.
pub(super) struct Dialog {
    id: RequestId,
    request: Request,
    since: Time,
    begun: Instant,
    state: State,
}

enum State {
    Grace,
    Asked(Box<Waiting>),
    Replied(Box<Replied>),
    Over,
}

/// A question in the mailbox.
struct Waiting {
    beside: Beside,
    shown: Shown,
}

/// An answer on its way to the session.
struct Replied {
    claim: Claim<OnRecord>,
    receipt: Receipt,
}

/// A message that has to be sent as a request of ours.
pub(super) type Call = (&'static str, Value);

impl Dialog {
    /// A request that came now.
    pub(super) fn new(id: RequestId, request: Request) -> Self {
        Self { id, request, since: time::now(), begun: Instant::now(), state: State::Grace }
    }

    /// The request.
    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    /// True if an answer was sent whose end is not known yet.
    pub(super) fn is_replied(&self) -> bool {
        matches!(self.state, State::Replied(_))
    }

    /// Does what is due. Returns requests that have to be sent to the daemon.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn tick(&mut self, office: Office<'_>, threads: &Threads, client: &mut Client) -> Result<Vec<Call>> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Grace if self.is_early(office, threads) => self.state = State::Grace,
            State::Grace => match self.ask(office, threads) {
                // Another request of the same call is still open: this one is asked behind it.
                Ok(waiting) => self.state = waiting.map_or(State::Grace, |waiting| State::Asked(Box::new(waiting))),
                // Another process keeps a lock for a moment.
                Err(e) if e.is_held() => self.state = State::Grace,
                Err(e) => self.not_asked(office, &e),
            },
            State::Asked(waiting) => return self.look(office, *waiting, client),
            State::Replied(replied) => self.state = State::Replied(replied),
            State::Over => {}
        }
        Ok(Vec::new())
    }

    /// True as long as the dialog is its terminal's alone, or its session is not described yet.
    fn is_early(&self, office: Office<'_>, threads: &Threads) -> bool {
        let age = self.begun.elapsed();
        age < office.config.live.grace.0 || (threads.get(&self.request.thread).is_none() && age < PATIENCE)
    }

    fn not_asked(&self, office: Office<'_>, error: &Error) {
        audit::record(office.mailbox, Entry::about("dialog_not_asked").by(BY).why(in_words(error)));
        log::error(error);
    }

    /// Asks in the mailbox. `None` if the question of another request has the same workflow.
    fn ask(&self, office: Office<'_>, threads: &Threads) -> Result<Option<Waiting>> {
        let unknown = || Error::failed("codex has not told to which session a request belongs", "answer it at its terminal");
        let thread = threads.get(&self.request.thread).ok_or_else(unknown)?;
        let shown = Shown::of(&self.request, thread)?;
        let workflow = question::workflow(&self.request, thread)?;
        let document = question::document(&shown, &self.request, thread, &workflow, self.since)?;
        Ok(Beside::ask(office.mailbox, document, BY)?.map(|beside| Waiting { beside, shown }))
    }

    /// Looks for an answer, and sends it.
    fn look(&mut self, office: Office<'_>, waiting: Waiting, client: &mut Client) -> Result<Vec<Call>> {
        match waiting.beside.look(office.mailbox, &office.config.answers.policy()) {
            Ok(Look::Waits) => self.state = State::Asked(Box::new(waiting)),
            Ok(Look::Answered(claim)) => return self.give(office, waiting, *claim, client),
            Ok(Look::Changed) => self.not_asked(office, &Error::failed("a dialog's question was changed", "answer it at its terminal")),
            Ok(Look::Withdrawn) => {}
            Err(e) => {
                log::error(&e);
                self.state = State::Asked(Box::new(waiting));
            }
        }
        Ok(Vec::new())
    }

    /// Sends the claimed answer to the daemon.
    fn give(&mut self, office: Office<'_>, waiting: Waiting, claim: Claim<OnRecord>, client: &mut Client) -> Result<Vec<Call>> {
        let question = &claim.document.typed;
        let reply = Reply::of(office.mailbox, office.config, waiting.beside.round(), question, &self.request, &waiting.shown);
        let (reply, wanted, calls) = match reply {
            Ok(Reply::Result { result, words, wanted }) => {
                (Some(result), wanted, words.map(|words| self.tell(&words)).into_iter().collect())
            }
            Ok(Reply::Interrupt) => (None, Wanted::Stopped, vec![self.interrupt()]),
            Err(e) => {
                or_log(End::not_given(&in_words(&e)).close(claim, office.mailbox, BY));
                return Ok(Vec::new());
            }
        };
        if let Some(result) = reply {
            client.send(wire::reply(&self.id, &result))?;
        }
        self.state = State::Replied(Box::new(Replied { claim, receipt: Receipt::begin(wanted) }));
        Ok(calls)
    }

    /// The request that gives the turn the person's words beside a refusal.
    fn tell(&self, words: &str) -> Call {
        let input = json!([{ "type": "text", "text": words, "text_elements": [] }]);
        ("turn/steer", json!({ "threadId": self.request.thread, "expectedTurnId": self.request.turn, "input": input }))
    }

    fn interrupt(&self) -> Call {
        ("turn/interrupt", json!({ "threadId": self.request.thread, "turnId": self.request.turn }))
    }

    /// Takes a sign of the session. A question that still waits then is withdrawn.
    pub(super) fn take(&mut self, office: Office<'_>, sign: Sign) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Replied(mut replied) => match replied.receipt.take(sign) {
                End::NotKnownYet => self.state = State::Replied(replied),
                end => or_log(end.close(replied.claim, office.mailbox, BY)),
            },
            State::Asked(waiting) => waiting.withdraw(office, ANSWERED),
            State::Grace | State::Over => {}
        }
    }

    /// Ends the dialog in this way: nobody can give its answer to the session any more.
    pub(super) fn end(&mut self, office: Office<'_>, how: &str) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Asked(waiting) => waiting.withdraw(office, how),
            // The end of a reply is not known.
            State::Replied(_) | State::Grace | State::Over => {}
        }
    }
}

impl Waiting {
    fn withdraw(&self, office: Office<'_>, how: &str) {
        or_log(self.beside.withdraw(office.mailbox, &office.config.answers.policy(), how));
    }
}

fn in_words(error: &Error) -> String {
    error.to_string()
}

fn or_log(result: Result<()>) {
    if let Err(e) = result {
        log::error(&e);
    }
}
