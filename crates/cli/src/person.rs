//! The parts that the terminal's inbox and the web page share: a person's decision about one question, and the warning before a decision
//! that would lose something, or that the person may not mean.
//!
//! The person is told once what is at stake, such as texts that the decision would not send. The same key or button then goes on, as long
//! as exactly the same is at stake for the same question. Any other key makes the warning count as not given. The person is also told again
//! if the question, a text, or the set of questions to decline has changed.

use std::fmt::Debug;

use uuid::Uuid;

use askbox_mailbox::address::Address;
use askbox_mailbox::documents::asked::{Kind, Part};
use askbox_mailbox::documents::fields::approval::EDITED;
use askbox_mailbox::documents::fields::options::Choice;
use askbox_mailbox::documents::fields::shown_hash::Shown;
use askbox_mailbox::id::QuestionId;
use askbox_mailbox::text::{self, excerpt};
use askbox_mailbox::who::caller::Caller;
use askbox_mailbox::{Answer, AnswerValue, Question};

/// A person's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
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

impl Decision {
    /// The answer document, given by this person.
    #[must_use]
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
#[must_use]
pub fn refusal(person: &Caller, note: Option<String>, always: bool, stop: bool) -> Answer {
    match (always, stop) {
        (true, _) => person.declined_always(note),
        (false, true) => person.declined_with_a_stop(note),
        (false, false) => person.declined(note),
    }
}

fn not_blank(words: String) -> Option<String> {
    Some(words).filter(|words| !words.trim().is_empty())
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
}

impl Act {
    /// The decision with this name. The page uses the name for the button. A refusal for good or with a stop is a refusal
    /// too.
    pub fn named(name: &str) -> Option<Self> {
        let name = if [DECLINE_ALWAYS, DECLINE_AND_STOP].contains(&name) { Self::Decline.name() } else { name };
        [Self::Send, Self::AskBack, Self::Decline].into_iter().find(|act| act.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::AskBack => "back",
            Self::Decline => "decline",
        }
    }

    /// The verb for the decision before the name of its question, as in: enter *declines* docs-42.
    fn does_to(self) -> &'static str {
        match self {
            Self::Send => "sends your words to",
            Self::AskBack => "asks back",
            Self::Decline => "declines",
        }
    }

    /// The verb for the decision, as in: enter *declines*.
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
    /// A description of the field that holds it.
    pub place: String,
    /// The beginning of the text.
    pub text: String,
    /// Identifies this text, in this field, with this decision.
    pub hash: Uuid,
}

impl LeftOut {
    /// The field and the beginning of the text.
    #[must_use]
    pub fn named(&self) -> String {
        quoted(&self.place, &self.text)
    }
}

/// All texts that a person typed at a question.
#[derive(Debug)]
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
        if act != Act::Decline || !filled.why.trim().is_empty() {
            add("note", "the note".into(), filled.note);
        }
    }
    add("edited", "your change of the call".into(), filled.changed);
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
    /// Letters that the person typed in one go before the key that decides. At least one of them does nothing here, so the person may have
    /// been typing into the wrong window.
    Strayed {
        /// The letters.
        word: String,
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
    /// Questions that are declined together.
    DeclinedTogether {
        /// The questions.
        questions: Vec<Named>,
        /// The reason.
        why: String,
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

impl AtStake {
    /// Says in one sentence what is at stake. `again` says how the person goes on, as in `enter again`.
    #[must_use]
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
            Self::Strayed { word } => {
                format!("was \"{}\" meant for this question? look at what is chosen; {again} sends it", excerpt(word, 40))
            }
            Self::NearMiss { .. } => "Is this one of the options?".into(),
            Self::DecisionOn { act, question } => {
                format!("{again} {} {}: \"{}\"", act.does_to(), question.address, excerpt(&question.headline, 60))
            }
            Self::DeclinedTogether { questions, .. } if questions.len() == 1 => "Decline this question?".into(),
            Self::DeclinedTogether { questions, .. } => format!("Decline these {} questions?", questions.len()),
        }
    }

    /// The end of [`Self::told`], to print behind a list of the texts that are left out.
    #[must_use]
    pub fn told_of_a_list(&self, again: &str) -> String {
        match self {
            Self::LeftOut { act, .. } => format!("would not be sent; {again} {} without it", act.does()),
            other => other.told(again),
        }
    }

    /// Returns an id for each thing at stake. Another text, question or decision gets another id.
    fn names(&self, about: Uuid) -> Vec<Uuid> {
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
#[must_use]
pub fn about(question: &Question) -> Uuid {
    Shown::of_question(question).map_or_else(|_| Uuid::new_v4(), |shown| Uuid::new_v5(&Uuid::NAMESPACE_OID, shown.to_string().as_bytes()))
}

fn quoted(place: &str, text: &str) -> String {
    format!("{place} (\"{}\")", excerpt(text, 24))
}

/// The ids of the things that the person was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PressAgain(Vec<Uuid>);

impl PressAgain {
    /// Reads the ids from a form field. The page sends the field to the browser with the question, and gets it back with the pressed
    /// button.
    #[must_use]
    pub fn of_form(field: &str) -> Self {
        Self(field.split(' ').filter_map(|name| Uuid::parse_str(name).ok()).collect())
    }

    /// Writes the ids for a form field.
    #[must_use]
    pub fn to_form(&self) -> String {
        self.0.iter().map(Uuid::to_string).collect::<Vec<_>>().join(" ")
    }

    /// True if the person was told all of this about this question.
    #[must_use]
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

    const HERE: Uuid = Uuid::from_bytes([1; 16]);
    const AGAIN: &str = "enter again";

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
            (on(Act::Send, &one), on(Act::Send, &two)),
            (on(Act::Send, &one), on(Act::Decline, &one)),
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
    fn each_thing_is_told_in_one_sentence_that_names_it() {
        let told: Vec<_> = all().iter().map(|(thing, _)| thing.told(AGAIN)).collect();
        for words in [
            "the note (\"a\") would not be sent; enter again sends your answer without it",
            "your own words (\"x\") would not be sent; enter again sends `keep`, n makes them a note",
            "did you mean \"both\" as your answer? tab takes it as your own words; enter again asks the agent back",
            "did you mean \"none\" as your answer? tab takes it as your own words; enter again keeps the note",
            "this is your draft from before; enter again goes on with it",
            "Is this one of the options?",
            "enter again sends your words to one: \"One?\"",
            "Decline this question?",
        ] {
            assert!(told.iter().any(|told| told == words), "no {words:?} in {told:#?}");
        }
    }
}
