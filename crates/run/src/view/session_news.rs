//! The ends of rounds as news for a session of a user. The session reads what they brought with a command.

use crate::delivery::Delivery;
use crate::{Standing, record, story};
use askbox_mailbox::{Folder, Mailbox, WorkflowId, list, quarantine, round};

/// The end of a round, as a line of the audit trail claims it.
#[derive(Debug, Clone, Copy, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum End {
    /// A person, a default or an event has answered.
    Answered,
    /// A person has declined.
    Declined,
    /// A person has asked back.
    AskedBack,
    /// The answer or the result was delivered.
    #[strum(serialize = "delivered")]
    Finished,
    /// The run waits for a person.
    Parked,
    /// The question has expired.
    Expired,
    /// The question or the run was cancelled.
    Withdrawn,
    /// A file cannot be used.
    Quarantined,
}

impl End {
    /// The end that an event of the audit trail claims, if it is news for a person.
    pub fn named(event: &str) -> Option<Self> {
        event.parse().ok()
    }

    /// True if this is the result of a run. The answer to a question of a run is not: the run goes on with it.
    pub fn is_result(self) -> bool {
        !matches!(self, Self::Answered | Self::Declined | Self::AskedBack)
    }

    /// The words for a session.
    pub fn in_words(self, mailbox: &Mailbox, id: &WorkflowId) -> String {
        let words = match self {
            Self::Answered => "was answered",
            Self::Declined => "was declined",
            Self::AskedBack => "the user asked back",
            Self::Finished => match handed_over(mailbox, id) {
                Some(to) => return format!("{} took its answer", to.who()),
                None => "its run finished",
            },
            Self::Parked => "its run failed or was stopped, and waits for a person",
            Self::Expired => "expired without an answer",
            Self::Withdrawn => "was withdrawn",
            Self::Quarantined => "a file of it cannot be used",
        };
        words.to_owned()
    }

    /// True if the documents of the workflow confirm it.
    pub fn is_true(self, mailbox: &Mailbox, id: &WorkflowId) -> bool {
        if round::latest(mailbox, id).is_some_and(|last| last.document.typed.live.is_some()) {
            return false;
        }
        let standing = story::state_of(mailbox, id);
        match self {
            Self::Answered | Self::Declined | Self::AskedBack => standing.is_ok_and(|standing| {
                !matches!(
                    standing,
                    Standing::Pending | Standing::Overdue | Standing::Waiting | Standing::Withdrawn | Standing::Expired | Standing::Unknown
                )
            }),
            Self::Finished => matches!(standing, Ok(Standing::Delivered)),
            Self::Parked => matches!(standing, Ok(Standing::Parked | Standing::Interrupted)),
            Self::Expired => matches!(standing, Ok(Standing::Expired)),
            Self::Withdrawn => matches!(standing, Ok(Standing::Withdrawn)),
            Self::Quarantined => {
                list::all_names(mailbox, Folder::Quarantine).is_ok_and(|names| names.iter().any(|name| quarantine::is_of(name, id)))
            }
        }
    }
}

/// The delivery of the workflow's last round, if no agent was launched for it. Then askbox knows of no run.
pub fn handed_over(mailbox: &Mailbox, id: &WorkflowId) -> Option<Delivery> {
    let last = round::latest(mailbox, id)?;
    let run = record::latest(mailbox, &last.id).ok()??;
    Some(Delivery::of_claimed(&last.document.typed, &run)).filter(|delivery| *delivery != Delivery::Launch)
}
