//! What is at stake with a decision, in one sentence.

use std::fmt::Debug;

use uuid::Uuid;

use crate::person::texts::quoted;
use crate::person::{Act, LeftOut};
use askbox_mailbox::address::Address;
use askbox_mailbox::text::{excerpt, one_line};
use askbox_mailbox::{Choice, QuestionId};

/// Something that the next key or button would lose, or would decide although the person may not mean it.
#[derive(Debug, Clone, PartialEq)]
pub enum AtStake {
    /// Texts that the decision does not send.
    LeftOut {
        /// The decision.
        act: Act,
        /// The texts.
        texts: Vec<LeftOut>,
    },
    /// The person's own words, typed beside a chosen option. The option is sent without them.
    WordsBeside {
        /// The key of the option.
        option: String,
        /// The words.
        words: String,
    },
    /// An earlier draft that nobody has looked at since its question was opened again.
    EarlierDraft,
    /// A text whose window was opened by a letter key. The person may have meant that letter as the start of a word.
    Begun {
        /// The letter and the text.
        word: String,
        /// The decision that the window makes, or `None` for a note.
        act: Option<Act>,
        /// True if the question accepts the person's own words.
        takes_words: bool,
    },
    /// Letters that the person typed before the key that decides. At least one of them does nothing here, so the person may have been typing
    /// into the wrong window.
    Strayed {
        /// The letters.
        word: String,
        /// Those among them that are not keys.
        dead: Vec<char>,
        /// The effect of the key.
        next: Box<Next>,
    },
    /// Words that may mean one of these options.
    NearMiss {
        /// The part of the question.
        asked: String,
        /// The words.
        words: String,
        /// The similar options, if there are any.
        near: Vec<Choice>,
    },
    /// A decision in the person's own words: an answer, a refusal, or a question to the agent. The words may have been meant for another
    /// program, or for another question.
    DecisionOn {
        /// The decision.
        act: Act,
        /// The question that it is about.
        question: Box<Named>,
    },
    /// An answer that must not follow from a habit: a `yes` that was typed, several answers at once, or an answer to an MCP server.
    Answers {
        /// The question.
        question: Box<Named>,
        /// The answer.
        answer: Answers,
        /// The MCP server that asks, if one does.
        server: Option<String>,
    },
    /// A permission for a tool call.
    Allows {
        /// The workflow whose call it is.
        address: Address,
        /// The call in a few words.
        call: String,
        /// The chosen option, whose description says how far the permission goes.
        option: Box<Choice>,
    },
    /// Questions that are declined together.
    DeclinedTogether {
        /// The questions.
        questions: Vec<Named>,
        /// The reason.
        why: String,
    },
}

/// The answer that a person is asked about by its question's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// This value, as text.
    One(String),
    /// The answers to this many questions of a batch.
    Several(usize),
}

impl Answers {
    fn words(&self) -> String {
        match self {
            Self::One(value) => format!("`{}`", excerpt(value, 60)),
            Self::Several(count) => format!("your {count} answers"),
        }
    }
}

/// The effect of a key that comes behind strange letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It opens this question.
    Opens(Named),
    /// It sends this answer to this workflow.
    Sends {
        /// The workflow.
        to: Address,
        /// The answer, as text.
        answer: String,
    },
}

/// A question of a list, as the person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its workflow.
    pub address: Address,
    /// Its round, or `None` for a question that was made by hand.
    pub question: Option<QuestionId>,
    /// Its first line.
    pub headline: String,
    /// The beginning of the person's draft, which the decision does not send. Empty if there is none.
    pub draft: String,
}

/// The letters in quotes, each of them once: `"l" and "s"`.
fn listed(letters: &[char]) -> String {
    let mut once: Vec<char> = Vec::new();
    letters.iter().filter(|letter| !letter.is_whitespace()).for_each(|letter| {
        if !once.contains(letter) {
            once.push(*letter);
        }
    });
    let quoted: Vec<_> = once.into_iter().map(|letter| format!("\"{letter}\"")).collect();
    match quoted.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        all => all.concat(),
    }
}

impl AtStake {
    /// Says in one sentence what is at stake. `again` says how the person goes on, as in `this button again`.
    pub fn told(&self, again: &str) -> String {
        match self {
            Self::LeftOut { texts, .. } => {
                let all: Vec<_> = texts.iter().map(LeftOut::named).collect();
                format!("{} {}", all.join(", "), self.told_of_a_list(again))
            }
            Self::WordsBeside { option, words } => {
                format!("{} would not be sent; {again} sends `{option}`, n makes them a note", quoted("your own words", words))
            }
            Self::EarlierDraft => format!("this is your draft from before; {again} goes on with it"),
            Self::Begun { word, act, takes_words } => {
                let does = act.map_or("keeps the note", Act::does);
                let word = excerpt(word, 60);
                if *takes_words {
                    format!("did you mean \"{word}\" as your answer? tab takes it as your own words; {again} {does}")
                } else {
                    format!("did you mean \"{word}\"? this question takes no words of yours; {again} {does}, esc leads back")
                }
            }
            Self::Strayed { word, dead, next } => match &**next {
                Next::Opens(row) => {
                    let keys = if dead.len() == 1 { "is not a key" } else { "are not keys" };
                    let (dead, word) = (listed(dead), excerpt(word, 40));
                    format!("{dead} {keys} here: was \"{word}\" meant for another window? {again} opens {}", row.address)
                }
                Next::Sends { to, answer } => {
                    format!("was \"{}\" meant for this question? {again} sends {to} `{}`", excerpt(word, 40), excerpt(answer, 60))
                }
            },
            Self::NearMiss { .. } => "Is this one of the options?".into(),
            Self::DecisionOn { act, question } => {
                // A call that is refused always is named whole.
                let most = if *act == Act::DeclineAlways { 200 } else { 60 };
                format!("{again} {} {}: \"{}\"", act.does_to(), question.address, excerpt(&question.headline, most))
            }
            Self::Answers { question, answer, server } => {
                let to = server.as_ref().map(|server| format!("`{}` for ", excerpt(server, 60))).unwrap_or_default();
                format!("{again} sends {} to {to}{}: \"{}\"", answer.words(), question.address, excerpt(&question.headline, 60))
            }
            // The description says how far the permission goes, and how it is revoked, so it is never cut.
            Self::Allows { address, call, option } => {
                format!("{again} allows \"{call}\" to {address} with `{}`: {}", option.key, one_line(&option.description))
            }
            Self::DeclinedTogether { questions, .. } if questions.len() == 1 => "Decline this question?".into(),
            Self::DeclinedTogether { questions, .. } => format!("Decline these {} questions?", questions.len()),
        }
    }

    /// True if [`Self::told`] names the decision that follows. `has_note` is true if a note goes along. The person's own words stand in their
    /// field.
    pub fn names_what_is_sent(&self, has_note: bool) -> bool {
        match self {
            Self::DecisionOn { act, .. } => *act != Act::Send || !has_note,
            Self::Answers { .. } | Self::Allows { .. } | Self::NearMiss { .. } | Self::DeclinedTogether { .. } => true,
            Self::Strayed { next, .. } => matches!(**next, Next::Sends { .. }),
            Self::LeftOut { act, .. } => *act != Act::Send,
            Self::WordsBeside { .. } | Self::EarlierDraft | Self::Begun { .. } => false,
        }
    }

    /// The end of [`Self::told`], to print behind a list of the texts that are left out.
    pub fn told_of_a_list(&self, again: &str) -> String {
        match self {
            Self::LeftOut { act, .. } => format!("would not be sent; {again} {} without it", act.does()),
            other => other.told(again),
        }
    }

    /// Returns an id for each thing at stake. Another text, question or decision gets another id.
    pub(super) fn names(&self, about: Uuid) -> Vec<Uuid> {
        // `Debug` quotes texts, so that two different things never produce the same string.
        let name = |thing: &dyn Debug| Uuid::new_v5(&about, format!("{thing:?}").as_bytes());
        match self {
            Self::LeftOut { texts, .. } => texts.iter().map(|text| name(&text.hash)).collect(),
            Self::DeclinedTogether { questions, why } => questions.iter().map(|question| name(&(question, why))).collect(),
            one => vec![name(one)],
        }
    }
}
