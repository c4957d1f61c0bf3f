//! One waiting question, as a row of the list.

use std::cmp::Reverse;

use crate::sender::{RoundAt, Seen, Sender};
use askbox_cli::ask_answer::question_text;
use askbox_mailbox::address::Address;
use askbox_mailbox::{QuestionId, RoundId, Time, text};

/// One waiting question. Its texts are shortened, because there may be ten thousand of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub address: Address,
    /// The round, or `None` for a question made by hand and for a file that cannot be read.
    pub question: Option<QuestionId>,
    pub asked: Option<Time>,
    /// The time when it expires.
    pub expires: Option<Time>,
    pub asked_by: String,
    pub project: String,
    pub headline: String,
    pub priority: i32,
    /// True if the question waits for an event, not for a person.
    pub is_event: bool,
    pub is_approval: bool,
    /// True if the dialog of a live session asks it.
    pub is_live: bool,
    pub is_unreadable: bool,
}

/// The position of a row in the list: urgent questions first, then the oldest. Questions that do not wait for a person come last.
pub type Order = (bool, Reverse<i32>, Option<Time>, Address);

impl Row {
    /// Reads the question of an address, or returns `None` if none waits there.
    pub fn read(sender: Sender<'_>, address: &Address) -> Option<Self> {
        sender.look(address, |seen| match seen {
            Ok(Seen { id, question }) => Self {
                address: address.clone(),
                question: id,
                asked: question.asked_at(),
                expires: question.expires_at,
                asked_by: Some(text::excerpt(&question_text::asker(question), 40))
                    .filter(|by| !by.is_empty())
                    .unwrap_or_else(|| "-".into()),
                project: question.project(),
                headline: question_text::marked_title(sender.mailbox_of(address), question)
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
                priority: question.priority.unwrap_or(0),
                is_event: question.until.is_some(),
                is_approval: question.approval.is_some(),
                is_live: question.live.is_some(),
                is_unreadable: false,
            },
            Err(why) => Self {
                address: address.clone(),
                question: None,
                asked: None,
                expires: None,
                asked_by: "-".into(),
                project: "-".into(),
                headline: format!("unreadable: {why}"),
                priority: 0,
                is_event: false,
                is_approval: false,
                is_live: false,
                is_unreadable: true,
            },
        })
    }

    /// The round, if its id is known.
    pub fn at(&self) -> Option<RoundAt> {
        let round = RoundId { workflow: self.address.workflow.clone(), question: self.question? };
        Some(RoundAt { host: self.address.host.clone(), round })
    }

    pub fn order(&self) -> Order {
        (self.is_event, Reverse(self.priority), self.asked, self.address.clone())
    }

    /// True if the question's time is over, so that a person is late.
    pub fn is_overdue(&self, now: Time) -> bool {
        !self.is_event && self.expires.is_some_and(|at| at <= now)
    }
}
