//! What people are told of.

use serde::{Deserialize, Serialize};

/// Something that happened to a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A question waits for an answer.
    Asked,
    /// An agent waits for the permission to call a tool.
    Approval,
    /// The question still waits, and its asker wanted a reminder.
    Reminder,
    /// The question expires soon.
    Expiring,
    /// The question's time is over, and it still waits.
    Overdue,
    /// A question that was told waits no longer: it was answered, declined, withdrawn, or its time ended it.
    Answered,
    /// The agent got the answer and ended.
    Delivered,
    /// An attempt to deliver the answer failed; it is tried again.
    Failed,
    /// Attempts to deliver the answer failed, and a person must look.
    Parked,
}

impl Event {
    /// All events.
    pub const ALL: [Self; 9] = [
        Self::Asked,
        Self::Approval,
        Self::Reminder,
        Self::Expiring,
        Self::Overdue,
        Self::Answered,
        Self::Delivered,
        Self::Failed,
        Self::Parked,
    ];

    /// The word for it, in files, messages and arguments.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Approval => "approval",
            Self::Reminder => "reminder",
            Self::Expiring => "expiring",
            Self::Overdue => "overdue",
            Self::Answered => "answered",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Parked => "parked",
        }
    }

    /// Whether it is told only as long as the question waits.
    #[must_use]
    pub fn asks(self) -> bool {
        matches!(self, Self::Asked | Self::Approval | Self::Reminder | Self::Expiring | Self::Overdue)
    }

    /// Whether it is told as soon as it happens to a question that nobody had the time to see yet.
    #[must_use]
    pub fn is_new_question(self) -> bool {
        matches!(self, Self::Asked | Self::Approval)
    }
}
