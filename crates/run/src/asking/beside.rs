//! The driver *beside*: a dialog stays open at its terminal, its question lies in the mailbox at the same moment, and the first answer
//! counts.
//!
//! 1. *Grace*: the person at the terminal has the dialog for themselves.
//! 2. *Asked*: the question lies in the mailbox, and this process holds the lock of a waiter.
//! 3. *Sent*: the first answer was claimed under the workflow's lock, and sent to the program. Or the dialog has ended, and the question was
//!    withdrawn.
//! 4. *Over*: the program has shown whether it took the answer. One that it did not take came too late. Without a sign, the end stays open.
//!
//! No failure takes a dialog away: it stays at its terminal, and the audit trail has the reason.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::asking::hold::Look;
use crate::asking::posted::Posted;
use crate::asking::receipt::End;
use crate::claim::{Claim, OnRecord};
use crate::{Reply, Request};
use askbox_config::Config;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::programs::Facts;
use askbox_mailbox::{Mailbox, Result, RoundId, Time, time};

/// How often the mailbox is looked at while a dialog is open.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often another process that asks the same is met, until a dialog is left to it.
const TRIES: u32 = 5;
/// How many dialogs of one process are held.
const MOST: usize = 100;

/// The claim of an answer that a dialog is given.
type Taken = Box<Claim<OnRecord>>;

/// A program with dialogs. `Key` names one of them.
pub trait Program {
    /// The name of a dialog.
    type Key;

    /// The request of a dialog that opened so long ago. `None` as long as the program has not told enough.
    ///
    /// # Errors
    /// If a person cannot be asked about it: it is left to its terminal.
    fn read(&mut self, key: &Self::Key, age: Duration) -> Result<Option<Request>>;

    /// Sends the reply to a request. `round` has the answer.
    ///
    /// # Errors
    /// If the program is gone.
    fn write(&mut self, key: &Self::Key, request: &Request, round: &RoundId, reply: Reply) -> Result<Sent>;

    /// How a dialog has ended, if the program shows it now. A program that tells it of its own accord has nothing to say here.
    fn end(&mut self, _key: &Self::Key) -> Option<&'static str> {
        None
    }
}

/// What became of a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// The program shows later whether it took the reply.
    Yes,
    /// The program took the reply.
    Taken,
    /// The program would not understand the reply, for this reason.
    No(String),
}

/// Where the dialogs are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    /// The mailbox.
    pub mailbox: &'a Mailbox,
    /// The operator's wishes.
    pub config: &'a Config,
    /// The program.
    pub facts: &'static Facts,
}

impl Desk<'_> {
    /// Notes why a dialog is not in the mailbox. `askbox doctor` reports the newest one.
    pub fn not_asked(self, why: &str) {
        self.note("dialog_not_asked", why);
    }

    fn note(self, event: &'static str, why: &str) {
        audit::record(self.mailbox, Entry::about(event).by(self.facts.by).why(why));
    }

    fn or_note(self, result: Result<()>) {
        if let Err(e) = result {
            self.note("dialog_not_settled", &e.to_string());
        }
    }
}

/// A dialog, and what has become of it.
pub struct Dialog {
    since: Time,
    begun: Instant,
    grace: Duration,
    tries: u32,
    is_noted: bool,
    /// Why it is asked again.
    remark: Option<String>,
    state: State,
}

enum State {
    Grace,
    Asked(Box<(Posted, Request)>),
    Sent(Taken),
    /// It is left to its terminal as long as its session shows it.
    Left,
    Over,
}

impl Dialog {
    /// A dialog that opens now. The person at the terminal has it for themselves so long.
    pub fn new(grace: Duration) -> Self {
        Self { since: time::now(), begun: Instant::now(), grace, tries: 0, is_noted: false, remark: None, state: State::Grace }
    }

    /// True if nothing is to be done about it any more.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// True if an answer was sent whose end is not known yet.
    pub fn is_sent(&self) -> bool {
        matches!(self.state, State::Sent(_))
    }

    /// Does what is due.
    ///
    /// # Errors
    /// If the program is gone.
    pub fn look<P: Program>(&mut self, desk: Desk<'_>, program: &mut P, key: &P::Key) -> Result<()> {
        if matches!(self.state, State::Grace | State::Asked(_))
            && let Some(how) = program.end(key)
        {
            self.end(desk, how);
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Grace if self.begun.elapsed() < self.grace => self.state = State::Grace,
            State::Grace => match self.ask(desk, program, key) {
                Ok(Some(asked)) => self.state = State::Asked(Box::new(asked)),
                // Another process, or another request of the same call, still asks the same.
                Ok(None) if desk.facts.asks_again || self.tries < TRIES => self.state = State::Grace,
                Ok(None) => {}
                Err(e) if e.is_held() => self.state = State::Grace,
                Err(e) => desk.not_asked(&e.to_string()),
            },
            State::Asked(asked) => return self.look_for_answer(desk, program, key, asked),
            rest @ (State::Sent(_) | State::Left | State::Over) => self.state = rest,
        }
        Ok(())
    }

    fn ask<P: Program>(&mut self, desk: Desk<'_>, program: &mut P, key: &P::Key) -> Result<Option<(Posted, Request)>> {
        let Some(mut request) = program.read(key, self.begun.elapsed())? else { return Ok(None) };
        request.more.remark.clone_from(&self.remark);
        self.tries += 1;
        let posted = Posted::post(desk.mailbox, request.question(desk.facts, self.since)?, desk.facts)?;
        Ok(posted.map(|posted| (posted, request)))
    }

    fn look_for_answer<P: Program>(&mut self, desk: Desk<'_>, program: &mut P, key: &P::Key, asked: Box<(Posted, Request)>) -> Result<()> {
        let (posted, request) = &*asked;
        match posted.look(desk.mailbox, &desk.config.answers.policy()) {
            Ok(Look::Waits) => self.state = State::Asked(asked),
            Ok(Look::Answered(claim)) => return self.give(desk, program, key, request, claim),
            Ok(Look::Changed) => desk.not_asked("a dialog's question was changed"),
            // The dialog stays.
            Ok(Look::Ended(_)) => {}
            Err(e) => {
                if !std::mem::replace(&mut self.is_noted, true) {
                    desk.note("dialog_not_settled", &e.to_string());
                }
                self.state = State::Asked(asked);
            }
        }
        Ok(())
    }

    /// Sends the claimed answer to the program.
    fn give<P: Program>(&mut self, desk: Desk<'_>, program: &mut P, key: &P::Key, request: &Request, claim: Taken) -> Result<()> {
        let round = claim.round();
        let close = |claim: Claim<OnRecord>, end: &End| desk.or_note(end.close(claim, desk.mailbox, desk.facts.by));
        if let Some(problem) = request.misfit(&claim.document.typed) {
            close(*claim, &End::TooLate { why: format!("it does not fit the form, so the form is asked again: {problem}") });
            (self.remark, self.state) = (Some(format!("The answer before did not fit: {problem}.")), State::Grace);
            return Ok(());
        }
        let reply = match Reply::of(desk.mailbox, desk.config, &round, &claim.document.typed, request) {
            Ok(reply) => reply,
            Err(e) => {
                close(*claim, &End::not_given(&e.to_string()));
                return Ok(());
            }
        };
        // The dialog may have ended since the claim.
        if let Some(how) = program.end(key) {
            close(*claim, &End::too_late(how));
            return Ok(());
        }
        match program.write(key, request, &round, reply)? {
            Sent::Yes => self.state = State::Sent(claim),
            Sent::Taken => close(*claim, &End::Confirmed),
            Sent::No(why) => close(*claim, &End::not_given(&why)),
        }
        Ok(())
    }

    /// Takes what the program has shown of an answer that was sent.
    pub fn take(&mut self, desk: Desk<'_>, end: &End) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Sent(claim) => desk.or_note(end.close(*claim, desk.mailbox, desk.facts.by)),
            other => self.state = other,
        }
    }

    /// Ends the dialog in this way: nobody can give its answer to the session any more. The end of an answer that was sent is not known then.
    pub fn end(&mut self, desk: Desk<'_>, how: &str) {
        if let State::Asked(asked) = std::mem::replace(&mut self.state, State::Over) {
            // If it stays, the waiter's lock is free once this process has ended, and a watcher withdraws it.
            desk.or_note(asked.0.withdraw(desk.mailbox, &desk.config.answers.policy(), how));
        }
    }
}

/// The dialogs of one process of a program.
pub struct Dialogs<K> {
    /// Each by its name.
    pub open: HashMap<K, Dialog>,
}

impl<K: Eq + Hash> Dialogs<K> {
    /// A dialog opens. Nothing is done if it is open already.
    pub fn open(&mut self, desk: Desk<'_>, key: K) {
        if self.open.len() >= MOST && !self.open.contains_key(&key) {
            return desk.not_asked("too many dialogs of this session are open");
        }
        self.open.entry(key).or_insert_with(|| Dialog::new(desk.config.live.grace.0));
    }

    /// Does what is due, and forgets the dialogs that are over.
    ///
    /// # Errors
    /// If the program is gone.
    pub fn look<P: Program<Key = K>>(&mut self, desk: Desk<'_>, program: &mut P) -> Result<()> {
        self.open.iter_mut().try_for_each(|(key, dialog)| dialog.look(desk, program, key))?;
        self.open.retain(|_, dialog| !dialog.is_over());
        Ok(())
    }

    /// [`Dialog::take`]: what the program has shown of the answer to this dialog.
    pub fn take(&mut self, desk: Desk<'_>, key: &K, end: &End) {
        self.change(key, |dialog| dialog.take(desk, end));
    }

    /// [`Dialog::end`]: a dialog has ended in this way.
    pub fn end(&mut self, desk: Desk<'_>, key: &K, how: &str) {
        self.change(key, |dialog| dialog.end(desk, how));
    }

    fn change(&mut self, key: &K, change: impl FnOnce(&mut Dialog)) {
        if let Some(dialog) = self.open.get_mut(key) {
            change(dialog);
            if dialog.is_over() {
                self.open.remove(key);
            }
        }
    }

    /// Leaves a dialog to its terminal, for this reason.
    pub fn leave(&mut self, desk: Desk<'_>, key: &K, why: &str) {
        if let Some(dialog) = self.open.get_mut(key) {
            desk.not_asked(why);
            dialog.end(desk, why);
            dialog.state = State::Left;
        }
    }

    /// Ends all dialogs of which this is true, in this way, but for those whose answer was sent.
    pub fn end_all(&mut self, desk: Desk<'_>, how: &str, is_one: impl Fn(&K) -> bool) {
        for (_, dialog) in self.open.iter_mut().filter(|(key, dialog)| is_one(key) && !dialog.is_sent()) {
            dialog.end(desk, how);
        }
        self.open.retain(|_, dialog| !dialog.is_over());
    }
}
