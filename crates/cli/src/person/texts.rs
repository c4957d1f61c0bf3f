//! The texts that a person typed at a question, and those that a decision does not send.

use uuid::Uuid;

use crate::person::Act;
use askbox_mailbox::{Kind, Part, Question, excerpt, text};

/// A text that the decision does not send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// A description of the field that holds it.
    pub place: String,
    /// The beginning of the text.
    pub text: String,
    /// Identifies this text, in this field, with this decision.
    pub hash: Uuid,
}

impl LeftOut {
    /// The field and the beginning of the text.
    pub fn named(&self) -> String {
        quoted(&self.place, &self.text)
    }
}

/// All texts that a person typed at a question.
pub struct Texts<'a> {
    /// The person's own words for each part of the question.
    pub words: Vec<&'a str>,
    /// The note beside the answer.
    pub note: &'a str,
    /// A note whose window was closed unfinished, so that no answer takes it along.
    pub left_note: &'a str,
    /// The reason to decline.
    pub why: &'a str,
    /// The question to the agent.
    pub back: &'a str,
    /// The changed text of a tool call that the decision does not send. Empty if it is unchanged, or sent.
    pub changed: &'a str,
}

/// The texts that an act leaves out.
pub fn texts_left_out(filled: &Texts<'_>, question: &Question, act: Act) -> Vec<LeftOut> {
    let mut all = Vec::new();
    let mut add = |field: &str, place: String, words: &str| {
        // A browser drops a newline at the beginning of a text.
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
        // When declining, the note serves as the reason if no other reason is given.
        if !act.is_refusal() || !filled.why.trim().is_empty() {
            add("note", "the note".into(), filled.note);
        }
    }
    add("edited", "your change of the call".into(), filled.changed);
    add("left-note", "a note that you typed".into(), filled.left_note);
    if act != Act::AskBack {
        add("back", "your question to the agent".into(), filled.back);
    }
    if !act.is_refusal() {
        let place = if question.approval.is_some() { "why you deny it" } else { "why you decline" };
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

/// The field and the beginning of its text.
pub(super) fn quoted(place: &str, text: &str) -> String {
    format!("{place} (\"{}\")", excerpt(text, 24))
}
