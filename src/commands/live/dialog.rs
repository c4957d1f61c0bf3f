//! One request.
//!
//! 1. *Grace*: the person at the terminal has the dialog for themselves.
//! 2. *Asked*: the question lies in the mailbox, and this process holds the lock of a waiter.
//! 3. *Replied*: the first answer was taken under the workflow's lock, and given to the plugin. Or the dialog has ended, and the question
//!    was withdrawn.
//! 4. *Over*: the program has taken the reply, or has said that another one was first.

use std::time::Instant;

use crate::commands::live::office::Office;
use crate::commands::live::request::Request;
use crate::commands::live::way::Way;
use crate::commands::live::{question, reply};
use askbox_cli::program;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::time::{self, Time};
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::dialog::beside::{Beside, Look};
use askbox_run::dialog::end::End;

/// The status of HTTP for a reply that the program has taken.
const TAKEN: u16 = 200;
/// The status for a reply to a request that has ended.
const NOT_FOUND: u16 = 404;

/// Why a dialog is left to its terminal.
const CHANGED: &str = "its session has told the call of a dialog twice, in two forms";

/// A request, and what has become of it.
pub(super) struct Dialog {
    request: Request,
    since: Time,
    begun: Instant,
    state: State,
}

enum State {
    Grace,
    Asked(Beside),
    Replied(Box<Claim<OnRecord>>),
    /// Its call was told twice, in two forms. It is left to its terminal as long as the session lasts.
    Left,
    Over,
}

impl Dialog {
    /// A request that came now.
    pub(super) fn new(request: Request) -> Self {
        Self { request, since: time::now(), begun: Instant::now(), state: State::Grace }
    }

    /// True if nothing is to be done about it any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Does what is due.
    ///
    /// # Errors
    /// If the program can no longer be written to.
    pub(super) fn tick(&mut self, office: Office<'_>, way: &mut Way) -> Result<()> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Grace if self.begun.elapsed() < office.config.live.grace.0 => self.state = State::Grace,
            State::Grace => match self.ask(office) {
                // Another process still asks the same for a moment.
                Ok(beside) => self.state = beside.map_or(State::Grace, State::Asked),
                Err(e) if e.is_held() => self.state = State::Grace,
                Err(e) => not_asked(office, &program::message(&e)),
            },
            State::Asked(beside) => return self.look(office, way, beside),
            replied @ State::Replied(_) => self.state = replied,
            State::Left => self.state = State::Left,
            State::Over => {}
        }
        Ok(())
    }

    /// The program has told this dialog once more. If its call is another one now, nobody knows which of both the program would make.
    pub(super) fn told_again(&mut self, office: Office<'_>, request: &Request) {
        if !self.request.is_same_call(request) {
            not_asked(office, CHANGED);
            self.end(office, CHANGED);
            self.state = State::Left;
        }
    }

    fn ask(&self, office: Office<'_>) -> Result<Option<Beside>> {
        Beside::ask(office.mailbox, question::document(office.program, &self.request, self.since)?, office.program.by())
    }

    /// Looks for an answer, and sends it.
    fn look(&mut self, office: Office<'_>, way: &mut Way, beside: Beside) -> Result<()> {
        match beside.look(office.mailbox, &office.config.answers.policy()) {
            Ok(Look::Waits) => self.state = State::Asked(beside),
            Ok(Look::Answered(claim)) => return self.give(office, way, &beside, claim),
            Ok(Look::Changed) => not_asked(office, "a dialog's question was changed"),
            Ok(Look::Withdrawn) => {}
            Err(e) => {
                note(office, &e);
                self.state = State::Asked(beside);
            }
        }
        Ok(())
    }

    /// Sends the claimed answer to the program.
    fn give(&mut self, office: Office<'_>, way: &mut Way, beside: &Beside, claim: Box<Claim<OnRecord>>) -> Result<()> {
        let reply = match reply::of(office, beside.round(), &claim.document.typed, &self.request) {
            Ok(reply) => reply,
            Err(e) => {
                close(office, *claim, &End::not_given(&program::message(&e)));
                return Ok(());
            }
        };
        way.send(&reply)?;
        self.state = State::Replied(claim);
        Ok(())
    }

    /// Takes what the program said to a reply.
    pub(super) fn replied(&mut self, office: Office<'_>, status: u16) {
        let end = match status {
            TAKEN => End::Confirmed,
            NOT_FOUND => End::too_late(office.program.answered()),
            other => End::not_given(&format!("{} answered with the status {other}", office.program.name())),
        };
        self.settle(office, &end);
    }

    /// Notes that the plugin could not send a reply, or does not know if it was sent.
    pub(super) fn failed(&mut self, office: Office<'_>, why: &str) {
        not_asked(office, why);
        self.settle(office, &End::NotKnownYet);
    }

    fn settle(&mut self, office: Office<'_>, end: &End) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Replied(claim) => close(office, *claim, end),
            other => self.state = other,
        }
    }

    /// The dialog has ended without a reply of ours: the plugin does not tell the ends that it brings about.
    pub(super) fn ended(&mut self, office: Office<'_>) {
        self.settle(office, &End::too_late(office.program.answered()));
        self.end(office, office.program.answered());
    }

    /// Ends the dialog in this way: nobody can give its answer to the session any more.
    pub(super) fn end(&mut self, office: Office<'_>, how: &str) {
        match std::mem::replace(&mut self.state, State::Over) {
            // If it stays, the waiter's lock is free once this process has ended, and a watcher withdraws it.
            State::Asked(beside) => or_note(office, beside.withdraw(office.mailbox, &office.config.answers.policy(), how)),
            // The end of a reply is not known.
            State::Replied(_) | State::Grace | State::Left | State::Over => {}
        }
    }
}

fn close(office: Office<'_>, claim: Claim<OnRecord>, end: &End) {
    or_note(office, end.close(claim, office.mailbox, office.program.by()));
}

/// Notes why a dialog is not in the mailbox. `askbox doctor` reports the newest one.
pub(super) fn not_asked(office: Office<'_>, why: &str) {
    audit::record(office.mailbox, Entry::about("dialog_not_asked").by(office.program.by()).why(why));
}

fn or_note(office: Office<'_>, result: Result<()>) {
    if let Err(e) = result {
        note(office, &e);
    }
}

fn note(office: Office<'_>, error: &Error) {
    audit::record(office.mailbox, Entry::about("dialog_not_settled").by(office.program.by()).why(program::message(error)));
}
