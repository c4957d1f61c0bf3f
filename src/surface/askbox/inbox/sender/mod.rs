//! Where questions wait and answers go: this machine's mailbox, or another machine. The rest of the inbox names an address, and does not ask
//! which of the two it is.
//!
//! - `here`: the transitions of this machine's mailbox
//! - `there`: the questions of other machines, and the offers of answers to them
//! - `elsewhere`: what is known of other machines at one moment
//! - `shown`: a question as it was read for the screen, and where its round is

pub mod elsewhere;
mod here;
pub mod shown;
mod there;

use uuid::Uuid;

use crate::address::Address;
use crate::disk;
use crate::error::{Error, Result};
use crate::id::QuestionId;
use crate::mailbox::who::caller::Caller;
use crate::mailbox::{Mailbox, Question};
use crate::surface::askbox::inbox::sender::shown::{RoundAt, Shown};
use crate::surface::person::decision::Decision;
use crate::surface::program;

pub use there::Others;

/// The channel that answers from here are recorded with.
pub(super) const CHANNEL: &str = "inbox";

/// Who decides, and where.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    pub mailbox: &'a Mailbox,
    pub others: &'a Others,
    pub person: &'a Caller,
}

/// A question of the list.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The round; `None` for a question that was made by hand here.
    pub id: Option<QuestionId>,
    pub question: &'a Question,
}

/// An answer that was sent.
#[derive(Debug)]
pub struct Sent {
    pub at: RoundAt,
    /// What was answered, in a few words.
    pub words: String,
    pub warning: Option<String>,
    /// The offer, if another machine is to decide: it is no answer before.
    pub offer: Option<Offered>,
}

/// An answer that was offered to another machine.
#[derive(Debug, Clone)]
pub struct Offered {
    pub id: Uuid,
    /// The question in one line.
    pub title: String,
    /// The answer, as it is told once it counts.
    pub acknowledged: String,
    pub note: Option<String>,
}

impl Sender<'_> {
    /// Sends a decision about the question that was shown, and about no other.
    pub fn send(self, shown: &Shown, decision: Decision) -> Result<Sent> {
        let answer = decision.given_by(self.person);
        match &shown.host {
            None => here::send(self.mailbox, self.person, shown, answer),
            Some(host) => self.others.send(self.person, host, shown, answer),
        }
    }

    /// Takes an answer back, as long as no run has claimed it.
    pub fn undo(self, at: &RoundAt) -> Result<String> {
        match &at.host {
            None => here::undo(self.mailbox, self.person, &at.round),
            Some(host) => Err(there::cannot_be_taken_back(host, &at.round.workflow)),
        }
    }

    /// Whether no run has claimed the answer of a round here. Another machine's answers are taken back there.
    pub fn is_unclaimed(self, at: &RoundAt) -> bool {
        at.host.is_none() && here::is_unclaimed(self.mailbox, &at.round.workflow)
    }

    /// What `look` makes of the question that waits at an address, or of the reason why it cannot be read; `None` if none waits.
    pub fn look<T>(self, address: &Address, look: impl FnOnce(std::result::Result<Seen<'_>, String>) -> T) -> Option<T> {
        match &address.host {
            None => here::look(self.mailbox, &address.workflow, look),
            Some(host) => self.others.latest().question(host, &address.workflow).map(|question| look(there::seen(question))),
        }
    }

    /// The question that waits at an address now.
    pub fn pending(self, address: &Address) -> Result<Shown> {
        match &address.host {
            None => here::pending(self.mailbox, &address.workflow).map(|round| Shown { host: None, round }),
            Some(host) => self.others.pending(host, &address.workflow),
        }
    }

    /// Whether a question still waits as it was shown. `Err` says what became of it.
    pub fn still_waits(self, shown: &Shown) -> std::result::Result<(), String> {
        match &shown.host {
            None => here::still_waits(self.mailbox, shown),
            Some(host) => self.others.still_waits(host, shown),
        }
    }

    /// Why no question waits at an address, as an error of [`Self::pending`] says.
    pub fn why_not(self, address: &Address, error: Error) -> String {
        if address.host.is_none() && error.is_missing_file() { here::fate(self.mailbox, &address.workflow) } else { in_one_line(error) }
    }
}

/// An error as one line.
pub fn in_one_line(error: Error) -> String {
    program::message(&disk::explain_missing(error))
}
