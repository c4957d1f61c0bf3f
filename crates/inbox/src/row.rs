//! One waiting question, as a row of the list.

use std::cmp::Reverse;

use crate::sender::{Seen, Sender};
use askbox_cli::ask_answer::filter::Facts;
use askbox_cli::question_text;
use askbox_mailbox::{Address, RoundAt, RoundId, Time};

/// One waiting question.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub address: Address,
    /// The question in one line, with its marks.
    pub headline: String,
    pub is_unreadable: bool,
    pub facts: Facts,
}

/// The position of a row in the list: urgent questions first, then the oldest. Questions that do not wait for a person come last.
pub type Order = (bool, Reverse<i32>, Option<Time>, Address);

impl Row {
    /// Reads the question of an address, or returns `None` if none waits there.
    pub fn read(sender: Sender<'_>, address: &Address) -> Option<Self> {
        let (address, mailbox) = (address.clone(), sender.mailbox_of(address));
        sender.look(&address.clone(), |seen| match seen {
            Ok(Seen { id, question }) => {
                let headline = question_text::marked_title(mailbox, question).split_whitespace().collect::<Vec<_>>().join(" ");
                Self { address, headline, is_unreadable: false, facts: Facts::of(mailbox, question, id) }
            }
            Err(why) => Self { address, headline: format!("unreadable: {why}"), is_unreadable: true, facts: Facts::default() },
        })
    }

    /// The round, if its id is known.
    pub fn at(&self) -> Option<RoundAt> {
        let round = RoundId { workflow: self.address.workflow.clone(), question: self.facts.question? };
        Some(RoundAt { host: self.address.host.clone(), round })
    }

    pub fn order(&self) -> Order {
        (self.facts.is_event, Reverse(self.facts.priority), self.facts.asked_at, self.address.clone())
    }

    /// True if the question's time is over, so that a person is late.
    pub fn is_overdue(&self, now: Time) -> bool {
        !self.facts.is_event && self.facts.expires_at.is_some_and(|at| at <= now)
    }
}
