//! Texts that were typed and that a decision does not send. None is dropped without a word: see [`press_again`](super::press_again).

use uuid::Uuid;

use crate::mailbox::Question;
use crate::mailbox::documents::asked::{Kind, Part};
use crate::text;

/// The decision that a person is about to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// An answer.
    Send,
    /// A question to the agent.
    AskBack,
    /// A refusal.
    Decline,
}

impl Act {
    /// The decision with this name, which is a button's on the page.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Send, Self::AskBack, Self::Decline].into_iter().find(|act| act.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::AskBack => "back",
            Self::Decline => "decline",
        }
    }

    /// Says what the decision does, as in: enter *declines*.
    pub fn does(self) -> &'static str {
        match self {
            Self::Send => "sends your answer",
            Self::AskBack => "asks the agent back",
            Self::Decline => "declines",
        }
    }
}

/// A text that the decision does not send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it stands, in words.
    pub place: String,
    /// How it begins.
    pub text: String,
    /// Names this text, in this place, with this decision.
    pub hash: Uuid,
}

/// All texts beside a question.
#[derive(Debug)]
pub struct Texts<'a> {
    /// The person's own words, for each part of the question.
    pub words: Vec<&'a str>,
    /// The note beside the answer.
    pub note: &'a str,
    /// A note whose window was left: it stands beside no answer.
    pub left_note: &'a str,
    /// The reason to decline.
    pub why: &'a str,
    /// The question to the agent.
    pub back: &'a str,
}

/// The texts that an act leaves out.
pub fn of(filled: &Texts<'_>, question: &Question, act: Act) -> Vec<LeftOut> {
    let mut all = Vec::new();
    let mut add = |field: &str, place: String, words: &str| {
        // A browser drops the newline with which a text begins.
        let words = words.trim();
        if !words.is_empty() {
            let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{}\n{field}\n{words}", act.name()).as_bytes());
            all.push(LeftOut { place, text: text::excerpt(words, 80), hash });
        }
    };
    if act != Act::Send {
        for (n, (part, words)) in question.parts().iter().zip(&filled.words).enumerate() {
            add(&format!("w{n}"), answer_to(part, question.is_batch()), words);
        }
        // The note is the reason where no other one is given.
        if act != Act::Decline || !filled.why.trim().is_empty() {
            add("note", "the note".into(), filled.note);
        }
    }
    add("left-note", "a note that you typed".into(), filled.left_note);
    if act != Act::AskBack {
        add("back", "your question to the agent".into(), filled.back);
    }
    if act != Act::Decline {
        let place = if question.asked.approval.is_some() { "why you deny it" } else { "why you decline" };
        add("why", place.into(), filled.why);
    }
    all
}

fn answer_to(part: &Part, is_batch: bool) -> String {
    let words = match part.kind() {
        Kind::Number => "the number",
        Kind::Text => "your answer",
        Kind::Choice | Kind::MultiChoice | Kind::YesNo => "your own words",
    };
    if is_batch { format!("{words} to {}", text::excerpt(part.header.as_deref().unwrap_or(&part.question), 60)) } else { words.into() }
}
