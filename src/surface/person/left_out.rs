//! Texts that were typed and that a decision does not send. None is dropped without a word: the person is told once which they are, and the
//! same key or button then goes on without these very texts. On the page, the form's hidden field `left` names them.

use uuid::Uuid;

use crate::mailbox::Question;
use crate::mailbox::documents::asked::{Kind, Part};
use crate::text;

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

/// The texts that an act leaves out: `send`, `decline` or `back`.
pub fn of(filled: &Texts<'_>, question: &Question, act: &str) -> Vec<LeftOut> {
    let sends = act == "send";
    let mut all = Vec::new();
    let mut add = |field: &str, place: String, words: &str| {
        // A browser drops the newline with which a text begins.
        let words = words.trim();
        if !words.is_empty() {
            let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{act}\n{field}\n{words}").as_bytes());
            all.push(LeftOut { place, text: text::excerpt(words, 80), hash });
        }
    };
    if !sends {
        for (n, (part, words)) in question.parts().iter().zip(&filled.words).enumerate() {
            add(&format!("w{n}"), answer_to(part, question.is_batch()), words);
        }
        // The note is the reason where no other one is given.
        if act != "decline" || !filled.why.trim().is_empty() {
            add("note", "the note".into(), filled.note);
        }
    }
    add("left-note", "a note that you typed".into(), filled.left_note);
    if act != "back" {
        add("back", "your question to the agent".into(), filled.back);
    }
    if act != "decline" {
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
