//! A person's decision about one question.
//!
//! The sentence for a person whose answer starts no agent for now.

use crate::program::{self, Context};
use askbox_mailbox::documents::fields::approval::EDITED;
use askbox_mailbox::{Answer, AnswerValue, Caller, Mailbox, Question, text};
use askbox_run::{Cause, HoldUp, Teller};

/// A person's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonsDecision {
    /// Answer with this value and this note. The note may be empty.
    Answer(AnswerValue, String),
    /// Allow a tool call once, with this text in place of its editable one, and with this note. The note may be empty.
    Edit(String, String),
    /// Decline for this reason. The reason may be empty.
    Decline(String),
    /// Refuse a tool call whenever the workflow makes it, for this reason. The reason may be empty.
    DeclineAlways(String),
    /// Refuse the dialog of a live session, and end its turn. It takes no reason: one is refused.
    DeclineAndStop(String),
    /// Ask the agent this question first.
    AskBack(String),
}

impl PersonsDecision {
    /// The answer document, given by this person.
    pub fn given_by(self, person: &Caller) -> Answer {
        match self {
            Self::Answer(value, note) => Answer { note: not_blank(note), ..person.value(value) },
            Self::Edit(edited, note) => Answer { edited: Some(edited), note: not_blank(note), ..person.value(EDITED.into()) },
            Self::Decline(why) => person.declined(not_blank(why)),
            Self::DeclineAlways(why) => person.declined_always(not_blank(why)),
            Self::DeclineAndStop(why) => person.declined_with_a_stop(not_blank(why)),
            Self::AskBack(question) => person.asking_back(question),
        }
    }
}

/// The refusal, according to the flags of `ask-answer decline`.
pub fn refusal(person: &Caller, note: Option<String>, always: bool, stop: bool) -> Answer {
    match (always, stop) {
        (true, _) => person.declined_always(note),
        (false, true) => person.declined_with_a_stop(note),
        (false, false) => person.declined(note),
    }
}

fn not_blank(words: String) -> Option<String> {
    Some(words).filter(|words| !text::is_blank(words))
}

/// The name of the page's button that refuses a tool call for good.
pub const DECLINE_ALWAYS: &str = "always";
/// The name of the page's button that refuses a session's dialog and ends its turn.
pub const DECLINE_AND_STOP: &str = "stop";

/// The decision that a person is about to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// An answer.
    Send,
    /// A question to the agent.
    AskBack,
    /// A refusal.
    Decline,
    /// A refusal of a tool call whenever the workflow makes it.
    DeclineAlways,
    /// A refusal of a session's dialog that also ends the session's turn.
    DeclineAndStop,
}

/// The decisions: the name of each on the page, the verb as in: enter *declines*, and the verb before the name of its question, as in:
/// enter *declines* docs-42.
const ACTS: [(Act, &str, &str, &str); 5] = [
    (Act::Send, "send", "sends your answer", "sends your words to"),
    (Act::AskBack, "back", "asks the agent back", "asks back"),
    (Act::Decline, "decline", "declines", "declines"),
    (Act::DeclineAlways, DECLINE_ALWAYS, "always refuses this call", "always refuses this call of"),
    (Act::DeclineAndStop, DECLINE_AND_STOP, "declines and ends the turn", "declines and ends the turn of"),
];

impl Act {
    /// The decision with this name. The page uses the name for the button.
    pub fn named(name: &str) -> Option<Self> {
        ACTS.iter().find(|act| act.1 == name).map(|act| act.0)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        &ACTS[self as usize]
    }

    pub(super) fn name(self) -> &'static str {
        self.row().1
    }

    /// True for a refusal, however far it goes.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Decline | Self::DeclineAlways | Self::DeclineAndStop)
    }

    /// The verb for the decision.
    pub fn does(self) -> &'static str {
        self.row().2
    }

    /// The verb for the decision before the name of its question.
    pub(super) fn does_to(self) -> &'static str {
        self.row().3
    }

    /// The decision with these words: the reason, or the question to the agent. `None` for an answer, which has a value.
    pub fn with(self, words: String) -> Option<PersonsDecision> {
        Some(match self {
            Self::Send => return None,
            Self::AskBack => PersonsDecision::AskBack(words),
            Self::Decline => PersonsDecision::Decline(words),
            Self::DeclineAlways => PersonsDecision::DeclineAlways(words),
            Self::DeclineAndStop => PersonsDecision::DeclineAndStop(words),
        })
    }
}

/// Says why nothing starts the agent of an answered question for now, with the command that changes it: see [`Teller::after_answer`].
pub fn held_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<String> {
    hold_up(context, mailbox, question).map(|hold_up| hold_up.sentence(&question.workflow_id))
}

/// The reason why nothing starts the agent of an answered question for now: see [`Teller::after_answer`].
pub fn hold_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<HoldUp> {
    Teller::new(mailbox, context.loaded()).after_answer(question)
}

/// Warns that nothing is launched by itself, whatever is answered: the disk is full, the queue is paused, the watcher is stopped. That no watcher
/// runs is told with an answer.
pub fn warn_of_queue(teller: &Teller<'_>) {
    if let Some(hold_up) = teller.general().iter().find(|hold_up| hold_up.cause != Cause::NoWatcher) {
        program::warn(&format!("{}; answers are kept", hold_up.words()));
    }
}
