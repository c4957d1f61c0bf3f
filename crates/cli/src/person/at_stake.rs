//! What is at stake with a decision, in one sentence.
//!
//! The warnings that a person was given.

use std::fmt::Debug;

use uuid::Uuid;

use crate::person::texts::quoted;
use crate::person::{Act, LeftOut};
use askbox_mailbox::{Address, Choice, Question, QuestionId, Shown, excerpt, one_line};

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
    /// A prompt for a session, or a stop.
    Session {
        /// What happens, in words in front of the name.
        does: &'static str,
        /// The name of the session.
        session: String,
        /// The words.
        words: String,
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
            Self::Session { does, session, .. } => format!("{again} {does} {}", excerpt(session, 60)),
            Self::DeclinedTogether { questions, .. } if questions.len() == 1 => "Decline this question?".into(),
            Self::DeclinedTogether { questions, .. } => format!("Decline these {} questions?", questions.len()),
        }
    }

    /// True if [`Self::told`] names the decision that follows. `has_note` is true if a note goes along. The person's own words stand in their
    /// field.
    pub fn names_what_is_sent(&self, has_note: bool) -> bool {
        match self {
            Self::DecisionOn { act, .. } => *act != Act::Send || !has_note,
            Self::Answers { .. } | Self::Allows { .. } | Self::Session { .. } | Self::NearMiss { .. } | Self::DeclinedTogether { .. } => {
                true
            }
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

/// Returns an id for a question as it is shown. A warning remembers this id, so that it is given once for each question. If the question
/// cannot be hashed, the id is random: then it equals no remembered one, and the person is warned each time.
pub fn about(question: &Question) -> Uuid {
    Shown::of_question(question).map_or_else(|_| Uuid::new_v4(), |shown| Uuid::new_v5(&Uuid::NAMESPACE_OID, shown.to_string().as_bytes()))
}

/// The ids of the things that the person was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PressAgain(Vec<Uuid>);

impl PressAgain {
    /// Reads the ids from a form field. The page sends the field to the browser with the question, and gets it back with the pressed
    /// button.
    pub fn of_form(field: &str) -> Self {
        Self(field.split(' ').filter_map(|name| Uuid::parse_str(name).ok()).collect())
    }

    /// Writes the ids for a form field.
    pub fn to_form(&self) -> String {
        self.0.iter().map(Uuid::to_string).collect::<Vec<_>>().join(" ")
    }

    /// True if the person was told all of this about this question.
    pub fn was_told(&self, about: Uuid, thing: &AtStake) -> bool {
        thing.names(about).iter().all(|name| self.0.contains(name))
    }

    /// Records that the person is told this.
    pub fn tell(&mut self, about: Uuid, thing: &AtStake) {
        let new: Vec<_> = thing.names(about).into_iter().filter(|name| !self.0.contains(name)).collect();
        self.0.extend(new);
    }

    /// Returns the things that the person must be told first. From now on, only the things at stake count as told.
    pub fn untold<'a>(&mut self, about: Uuid, at_stake: &'a [AtStake]) -> Vec<&'a AtStake> {
        let names: Vec<_> = at_stake.iter().flat_map(|thing| thing.names(about)).collect();
        self.0.retain(|name| names.contains(name));
        at_stake.iter().filter(|thing| !self.was_told(about, thing)).collect()
    }

    /// Forgets what the person was told, because another key was pressed.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::person::{Act, Answers, LeftOut, Named, Next};
    use askbox_mailbox::Choice;
    use askbox_mailbox::address::Address;

    const HERE: Uuid = Uuid::from_bytes([1; 16]);
    const AGAIN: &str = "this button again";

    fn left_out(act: Act, text: &str) -> AtStake {
        let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{act:?}{text}").as_bytes());
        AtStake::LeftOut { act, texts: vec![LeftOut { place: "the note".into(), text: text.into(), hash }] }
    }

    fn choice(key: &str) -> Choice {
        serde_json::from_value(serde_json::json!({"label": key})).unwrap()
    }

    fn named(id: &str, headline: &str) -> Named {
        Named { address: Address::here(id.parse().unwrap()), question: None, headline: headline.into(), draft: String::new() }
    }

    fn together(questions: &[&Named], why: &str) -> AtStake {
        AtStake::DeclinedTogether { questions: questions.iter().map(|named| (*named).clone()).collect(), why: why.into() }
    }

    /// Returns each kind of thing, paired with a copy that differs in one value.
    fn all() -> Vec<(AtStake, AtStake)> {
        let beside = |option: &str, words: &str| AtStake::WordsBeside { option: option.into(), words: words.into() };
        let begun = |word: &str, act| AtStake::Begun { word: word.into(), act, takes_words: true };
        let near = |words: &str, near: &[&str]| {
            let near = near.iter().map(|key| choice(key)).collect();
            AtStake::NearMiss { asked: "Ship?".into(), words: words.into(), near }
        };
        let (one, two) = (named("one", "One?"), named("two", "Two?"));
        let strayed = |word: &str, next: Next| AtStake::Strayed { word: word.into(), dead: word.chars().collect(), next: next.into() };
        let opens = |row: &Named| Next::Opens(row.clone());
        let sends = |answer: &str| Next::Sends { to: one.address.clone(), answer: answer.into() };
        let allows = |address: &str, call: &str, key: &str| {
            let option = Choice { description: "one time".into(), ..choice(key) };
            AtStake::Allows { address: address.parse().unwrap(), call: call.into(), option: option.into() }
        };
        let answers = |question: &Named, answer, server: Option<&str>| {
            let server = server.map(str::to_owned);
            AtStake::Answers { question: question.clone().into(), answer, server }
        };
        let one_word = |word: &str| Answers::One(word.into());
        let on = |act, question: &Named| AtStake::DecisionOn { act, question: question.clone().into() };
        vec![
            (left_out(Act::Send, "a"), left_out(Act::Send, "b")),
            (left_out(Act::Send, "a"), left_out(Act::Decline, "a")),
            (beside("keep", "x"), beside("merge", "x")),
            (beside("keep", "x"), beside("keep", "y")),
            (begun("both", Some(Act::AskBack)), begun("bother", Some(Act::AskBack))),
            (begun("none", None), begun("none", Some(Act::Decline))),
            (near("mrege", &["merge"]), near("mreg", &["merge"])),
            (near("mrege", &["merge"]), near("mrege", &["merge", "emerge"])),
            (together(&[&one], "no"), together(&[&two], "no")),
            (together(&[&one], "no"), together(&[&one], "never")),
            (together(&[&one], "no"), together(&[&named("one", "Another?")], "no")),
            (together(&[&one], "no"), together(&[&Named { draft: "half a thought".into(), ..one.clone() }], "no")),
            (strayed("ls", sends("keep")), strayed("ls", opens(&one))),
            (strayed("ls", sends("keep")), strayed("ls", sends("merge"))),
            (strayed("ls", opens(&one)), strayed("ls", opens(&two))),
            (allows("one", "Bash: ls", "once"), allows("two", "Bash: ls", "once")),
            (allows("one", "Bash: ls", "once"), allows("one", "Bash(rm)", "once")),
            (allows("one", "Bash: ls", "once"), allows("one", "Bash: ls", "workflow")),
            (on(Act::Send, &one), on(Act::Send, &two)),
            (on(Act::Send, &one), on(Act::Decline, &one)),
            (on(Act::Decline, &one), on(Act::DeclineAlways, &one)),
            (on(Act::DeclineAlways, &one), on(Act::DeclineAndStop, &one)),
            (answers(&one, one_word("yes"), None), answers(&two, one_word("yes"), None)),
            (answers(&one, one_word("yes"), Some("bank")), answers(&one, one_word("no"), Some("bank"))),
            (answers(&one, Answers::Several(2), None), answers(&one, Answers::Several(3), None)),
            (AtStake::EarlierDraft, beside("a", "b")),
        ]
    }

    #[test]
    fn the_same_key_goes_on_only_while_the_very_same_is_at_stake() {
        for (thing, changed) in all() {
            let mut again = PressAgain::default();
            assert_eq!(again.untold(HERE, std::slice::from_ref(&thing)), [&thing], "the first press tells");
            again.tell(HERE, &thing);
            assert!(again.untold(HERE, std::slice::from_ref(&thing)).is_empty(), "the second one goes on: {thing:?}");
            assert!(!again.was_told(Uuid::nil(), &thing), "another question, or another text of it: {thing:?}");
            assert_eq!(again.untold(HERE, std::slice::from_ref(&changed)), [&changed], "{thing:?}");
            assert!(!again.was_told(HERE, &thing), "what is no longer at stake is forgotten: {thing:?}");
            again.tell(HERE, &thing);
            again.forget();
            assert!(!again.was_told(HERE, &thing), "another key: {thing:?}");
        }
    }

    #[test]
    fn a_form_carries_what_its_person_was_told_of() {
        let mut again = PressAgain::default();
        let things: Vec<_> = all().into_iter().map(|(thing, _)| thing).collect();
        things.iter().for_each(|thing| again.tell(HERE, thing));
        let again = PressAgain::of_form(&format!("nonsense {}", again.to_form()));
        assert!(things.iter().all(|thing| again.was_told(HERE, thing)));
    }

    #[test]
    fn fewer_of_the_told_things_go_on_and_more_do_not() {
        let (one, two) = (named("one", "One?"), named("two", "Two?"));
        let mut again = PressAgain::default();
        again.tell(HERE, &together(&[&one, &two], "no"));
        assert!(again.untold(HERE, &[together(&[&one], "no")]).is_empty());
        assert!(!again.was_told(HERE, &together(&[&one, &two], "no")), "nor are more of them told");
    }

    #[test]
    fn a_permission_is_told_with_the_whole_of_its_scope() {
        let description =
            format!("allow exactly this call in /srv/{}, until you revoke it: relaunch approve --revoke one", "deep/".repeat(40));
        let option = Choice { description: description.clone(), ..choice("workflow") };
        let told = AtStake::Allows { address: "one".parse().unwrap(), call: "Bash: ls".into(), option: option.into() }.told(AGAIN);
        assert!(told.ends_with(&description), "{told}");
    }

    #[test]
    fn each_thing_is_told_in_one_sentence_that_names_it() {
        let told: Vec<_> = all().iter().map(|(thing, _)| thing.told(AGAIN)).collect();
        for words in [
            "the note (\"a\") would not be sent; this button again sends your answer without it",
            "your own words (\"x\") would not be sent; this button again sends `keep`, n makes them a note",
            "did you mean \"both\" as your answer? tab takes it as your own words; this button again asks the agent back",
            "did you mean \"none\" as your answer? tab takes it as your own words; this button again keeps the note",
            "this is your draft from before; this button again goes on with it",
            "Is this one of the options?",
            "this button again sends your words to one: \"One?\"",
            "was \"ls\" meant for this question? this button again sends one `keep`",
            "\"l\" and \"s\" are not keys here: was \"ls\" meant for another window? this button again opens one",
            "this button again sends `yes` to one: \"One?\"",
            "this button again sends `yes` to `bank` for one: \"One?\"",
            "this button again sends your 2 answers to one: \"One?\"",
            "this button again declines one: \"One?\"",
            "this button again always refuses this call of one: \"One?\"",
            "this button again allows \"Bash: ls\" to one with `once`: one time",
            "Decline this question?",
        ] {
            assert!(told.iter().any(|told| told == words), "no {words:?} in {told:#?}");
        }
    }
}
