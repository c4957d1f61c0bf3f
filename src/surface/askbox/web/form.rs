//! What a person filled in, as an answer. A form that leaves something open comes back with what was filled in, and says what is missing.
//!
//! | field | content |
//! |---|---|
//! | `aN` | part N: the place of a chosen option, `words`, `yes` or `no`; several times where several may be chosen |
//! | `wN` | part N: words of the person's own, or the number |
//! | `mN`, `mwN` | part N: what the words `mwN` mean: the place of an option, or `own` |
//! | `note`, `why`, `back` | a note beside the answer, the reason for declining, a question back |
//! | `act` | `send`, `decline` or `back` |
//! | `left` | the hashes of the texts that the person leaves out, by spaces: see [`left_out`] |

use serde_json::Map;
use uuid::Uuid;

use crate::mailbox::documents::asked::{Kind, Part};
use crate::mailbox::documents::checks::match_option::{self, Meaning};
use crate::mailbox::documents::fields::options::Choice;
use crate::mailbox::{AnswerValue, Question};
use crate::surface::askbox::web::gate::Posted;
use crate::surface::person::decision::Decision;
use crate::surface::person::left_out::{self, LeftOut, Texts};

/// All words in a form whose question is not known any more.
pub fn words(posted: &Posted) -> String {
    let is_written = |name: &str| ["note", "why", "back"].contains(&name) || name.starts_with('w');
    let words = posted.0.iter().filter(|(name, words)| is_written(name) && !words.trim().is_empty());
    words.map(|(_, words)| words.trim().replace("\r\n", "\n")).collect::<Vec<_>>().join("\n\n")
}

/// A form as it was filled in.
#[derive(Debug, Default)]
pub struct Filled {
    /// The parts of the question.
    pub parts: Vec<FilledPart>,
    /// The note beside the answer.
    pub note: String,
    /// The reason for declining.
    pub why: String,
    /// The question back.
    pub back: String,
    /// The texts that the person leaves out, or is asked about.
    pub left: Vec<Uuid>,
    /// What the pressed button would leave out, for the person to say so.
    pub left_out: Vec<LeftOut>,
    /// The pressed button.
    pub act: String,
}

/// One part as it was filled in.
#[derive(Debug, Default)]
pub struct FilledPart {
    /// What was chosen.
    pub chosen: Vec<String>,
    /// What was written.
    pub words: String,
    /// What the words mean, if the person was asked: the place of an option, or `own`.
    pub meant: Option<String>,
    /// What is missing.
    pub open: Option<Open>,
}

/// Why a part has no value yet.
#[derive(Debug, Clone, PartialEq)]
pub enum Open {
    /// A sentence for the person.
    Because(&'static str),
    /// The words may mean one of the options at these places.
    Perhaps(Vec<usize>),
}

/// What a person did.
#[derive(Debug, PartialEq)]
pub enum Done {
    /// Decided.
    Decided(Decision),
    /// Left something open; `Filled` says what, or this does.
    LeftOpen(Option<&'static str>),
}

impl Filled {
    /// Reads a form for this question.
    #[must_use]
    pub fn read(question: &Question, posted: &Posted) -> Self {
        let text = |name: &str| posted.get(name).unwrap_or_default().replace("\r\n", "\n");
        let part = |n: usize| {
            let words = text(&format!("w{n}"));
            let is_about_these = text(&format!("mw{n}")) == words;
            FilledPart {
                chosen: posted.all(&format!("a{n}")).map(str::to_owned).collect(),
                meant: posted.get(&format!("m{n}")).filter(|_| is_about_these).map(str::to_owned),
                words,
                open: None,
            }
        };
        let parts = (0..question.parts().len()).map(part).collect();
        let left = text("left").split(' ').filter_map(|hash| Uuid::parse_str(hash).ok()).collect();
        let (note, why, back, act) = (text("note"), text("why"), text("back"), text("act"));
        Self { parts, note, why, back, left, left_out: Vec::new(), act }
    }

    fn texts(&self) -> Texts<'_> {
        let words = self.parts.iter().map(|part| part.words.as_str()).collect();
        Texts { words, note: &self.note, left_note: "", why: &self.why, back: &self.back }
    }

    /// What the person decided, by the button that was pressed.
    pub fn decide(&mut self, question: &Question) -> Done {
        let done = self.pressed(question);
        let texts = left_out::of(&self.texts(), question, &self.act);
        let (known, new): (Vec<_>, Vec<_>) = texts.into_iter().partition(|text| self.left.contains(&text.hash));
        self.left = known.iter().map(|text| text.hash).collect();
        if new.is_empty() || !matches!(done, Done::Decided(_)) {
            return done;
        }
        self.left.extend(new.iter().map(|text| text.hash));
        self.left_out = new;
        Done::LeftOpen(None)
    }

    fn pressed(&mut self, question: &Question) -> Done {
        match self.act.as_str() {
            "decline" if self.why.trim().is_empty() => Done::Decided(Decision::Decline(self.note.clone())),
            "decline" => Done::Decided(Decision::Decline(self.why.clone())),
            "back" if self.back.trim().is_empty() => Done::LeftOpen(Some("Write your question first.")),
            "back" => Done::Decided(Decision::AskBack(self.back.clone())),
            "send" => self.answer(question),
            _ => Done::LeftOpen(Some("Press one of the buttons.")),
        }
    }

    fn answer(&mut self, question: &Question) -> Done {
        let parts = question.parts();
        let mut values = Vec::new();
        for (part, filled) in parts.iter().zip(&mut self.parts) {
            match filled.value(part) {
                Ok(value) => values.push(value),
                Err(open) => filled.open = Some(open),
            }
        }
        if values.len() < parts.len() {
            return Done::LeftOpen(None);
        }
        let value = if question.is_batch() {
            let keyed = parts.iter().enumerate().zip(values).map(|((n, part), value)| (part.key(n), value.to_json()));
            AnswerValue::Batch(keyed.collect::<Map<_, _>>())
        } else {
            values.remove(0)
        };
        Done::Decided(Decision::Answer(value, self.note.clone()))
    }

    /// Everything that was written, for a person whose answer came too late.
    #[must_use]
    pub fn written(&self) -> String {
        let words = self.parts.iter().map(|part| &part.words).chain([&self.note, &self.why, &self.back]);
        words.map(|words| words.trim()).filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// What was chosen, in words.
    #[must_use]
    pub fn chosen(&self, question: &Question) -> String {
        let parts = question.parts();
        let of = |(part, filled): (&Part, &FilledPart)| {
            let key = |chosen: &String| match chosen.as_str() {
                "words" => None,
                place => Some(option(part, place).map_or_else(|| place.to_owned(), |choice| choice.key.clone())),
            };
            filled.chosen.iter().filter_map(key).collect::<Vec<_>>().join(", ")
        };
        parts.iter().zip(&self.parts).map(of).filter(|chosen| !chosen.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

impl FilledPart {
    /// Whether this is what was chosen.
    #[must_use]
    pub fn has(&self, chosen: &str) -> bool {
        self.chosen.iter().any(|c| c == chosen)
    }

    fn value(&self, part: &Part) -> Result<AnswerValue, Open> {
        let is_written = !self.words.trim().is_empty();
        let text = |text: &str| Ok(AnswerValue::Text(text.to_owned()));
        let keys: Vec<String> = self.chosen.iter().filter_map(|place| option(part, place)).map(|choice| choice.key.clone()).collect();
        match part.kind() {
            Kind::YesNo => match self.chosen.as_slice() {
                [answer] if answer == "yes" || answer == "no" => text(answer),
                _ => Err(Open::Because("Choose yes or no.")),
            },
            Kind::Number if !self.words.trim().parse::<f64>().is_ok_and(f64::is_finite) => Err(Open::Because("Write a number.")),
            Kind::Number => text(self.words.trim()),
            Kind::Text if is_written => text(&self.words),
            Kind::Text => Err(Open::Because("Write your answer first.")),
            Kind::MultiChoice => {
                let mut keys = keys;
                if is_written {
                    let own = self.own_words(part)?;
                    if !keys.contains(&own) {
                        keys.push(own);
                    }
                }
                if keys.is_empty() { Err(Open::Because("Choose at least one.")) } else { Ok(AnswerValue::List(keys)) }
            }
            Kind::Choice => match (keys.as_slice(), is_written) {
                ([key], false) => text(key),
                // A hurried person may have meant either.
                ([_], true) => Err(Open::Because(
                    "An option is chosen, and words of your own are written as well. Choose one of both; words beside an option are a note.",
                )),
                ([], true) => self.own_words(part).map(AnswerValue::Text),
                ([], false) if self.has("words") => Err(Open::Because("Write your own words first.")),
                _ => Err(Open::Because("Choose one.")),
            },
        }
    }

    /// Words of the person's own, unless they may be meant as an option.
    fn own_words(&self, part: &Part) -> Result<String, Open> {
        match (self.meant.as_deref(), match_option::meaning(&part.options, &self.words)) {
            (Some("own"), _) | (None, Meaning::OwnWords) => Ok(self.words.clone()),
            (Some(place), _) if option(part, place).is_some() => Ok(option(part, place).map(|c| c.key.clone()).unwrap_or_default()),
            // A single choice that is written out is that choice; among several it may be one that was left out.
            (_, Meaning::Option(choice)) => Ok(choice.key.clone()),
            (_, Meaning::NearMiss(near)) => Err(Open::Perhaps(places(part, &near))),
            (Some(_), Meaning::OwnWords) => Ok(self.words.clone()),
        }
    }
}

fn option<'a>(part: &'a Part, place: &str) -> Option<&'a Choice> {
    part.options.0.get(place.parse::<usize>().ok()?)
}

fn places(part: &Part, near: &[&Choice]) -> Vec<usize> {
    part.options.0.iter().enumerate().filter(|(_, choice)| near.contains(choice)).map(|(n, _)| n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(question: &str, fields: &[(&str, &str)]) -> (Done, Vec<Option<Open>>) {
        let question: Question = serde_json::from_str(question).unwrap();
        let posted = Posted(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        let mut filled = Filled::read(&question, &posted);
        if filled.act.is_empty() {
            "send".clone_into(&mut filled.act);
        }
        let done = filled.decide(&question);
        (done, filled.parts.into_iter().map(|part| part.open).collect())
    }

    fn answered(question: &str, fields: &[(&str, &str)]) -> String {
        match decide(question, fields) {
            (Done::Decided(Decision::Answer(value, _)), _) => value.to_json().to_string(),
            (done, open) => format!("{done:?} {open:?}"),
        }
    }

    const SHIP: &str = r#"{"workflow_id":"w","question":"Ship?","options":{"merge":"Into one","keep":"Keep both"}}"#;

    #[test]
    fn a_form_means_what_was_chosen_and_nothing_is_decided_by_an_empty_one() {
        assert_eq!(answered(SHIP, &[("a0", "1")]), r#""keep""#);
        assert_eq!(answered(SHIP, &[("a0", "words"), ("w0", "neither,\r\nsadly")]), r#""neither,\nsadly""#);
        assert_eq!(answered(SHIP, &[("w0", "neither of them")]), r#""neither of them""#);
        for fields in [&[][..], &[("a0", "2")], &[("a0", "words"), ("w0", " ")], &[("a0", "0"), ("a0", "1")], &[("a0", "0"), ("w0", "x y")]]
        {
            assert!(
                matches!(decide(SHIP, fields), (Done::LeftOpen(None), open) if matches!(open[0], Some(Open::Because(_)))),
                "{fields:?}"
            );
        }
        assert_eq!(answered(r#"{"workflow_id":"w","question":"?","type":"yes_no"}"#, &[("a0", "no")]), r#""no""#);
        assert_eq!(answered(r#"{"workflow_id":"w","question":"?","type":"number"}"#, &[("w0", " 4.5 ")]), r#""4.5""#);
        assert_eq!(answered(r#"{"workflow_id":"w","question":"?"}"#, &[("w0", "two\nlines")]), r#""two\nlines""#);
        let several = r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a","b","c"]}"#;
        assert_eq!(answered(several, &[("a0", "2"), ("a0", "0"), ("w0", "and fuzz it")]), r#"["c","a","and fuzz it"]"#);
    }

    #[test]
    fn words_near_an_option_are_asked_back_and_the_answer_to_that_counts_for_these_words_only() {
        let near = |fields: &[(&str, &str)]| decide(SHIP, fields).1.remove(0);
        assert_eq!(near(&[("w0", "mrege")]), Some(Open::Perhaps(vec![0])));
        assert_eq!(near(&[("w0", "mrege"), ("m0", "own"), ("mw0", "merg")]), Some(Open::Perhaps(vec![0])));
        assert_eq!(answered(SHIP, &[("w0", "mrege"), ("m0", "own"), ("mw0", "mrege")]), r#""mrege""#);
        assert_eq!(answered(SHIP, &[("w0", "mrege"), ("m0", "0"), ("mw0", "mrege")]), r#""merge""#);
        assert_eq!(answered(SHIP, &[("w0", " MERGE ")]), r#""merge""#);
    }

    #[test]
    fn every_part_of_a_batch_is_answered_or_comes_back_with_what_is_missing() {
        let batch = r#"{"workflow_id":"w","questions":[{"id":"db","question":"Which?","options":["pg","sqlite"]},{"question":"How many?","type":"number"}]}"#;
        assert_eq!(answered(batch, &[("a0", "0"), ("w1", "3")]), r#"{"db":"pg","q2":"3"}"#);
        let (done, open) = decide(batch, &[("a0", "0")]);
        assert!(done == Done::LeftOpen(None) && open[0].is_none() && open[1].is_some());
    }

    #[test]
    fn a_text_that_the_button_does_not_send_is_asked_about_once() {
        let question: Question = serde_json::from_str(SHIP).unwrap();
        let press = |fields: &[(&str, &str)]| {
            let mut filled =
                Filled::read(&question, &Posted(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()));
            let done = filled.decide(&question);
            let left: Vec<_> = filled.left.iter().map(Uuid::to_string).collect();
            (done, filled.left_out.into_iter().map(|text| text.place).collect::<Vec<_>>().join(", "), left.join(" "))
        };
        let all = [("a0", "words"), ("w0", "neither"), ("note", "a note"), ("why", "a reason"), ("back", "which?")];
        for (act, asked) in [
            ("send", "your question to the agent, why you decline"),
            ("decline", "your own words, the note, your question to the agent"),
            ("back", "your own words, the note, why you decline"),
        ] {
            let fields = [&all[..], &[("act", act)]].concat();
            let (done, left_out, left) = press(&fields);
            assert_eq!((done, left_out.as_str()), (Done::LeftOpen(None), asked), "{act}");
            // The same button goes on, also with fewer texts; another text is asked about, and so is another button.
            assert!(matches!(press(&[&fields[..], &[("left", &left)]].concat()).0, Done::Decided(_)), "{act}");
            let other = match act {
                "send" => ("why", "another reason"),
                _ => ("w0", "none of them"),
            };
            assert_eq!(press(&[&[other, ("left", &left)], &fields[..]].concat()).0, Done::LeftOpen(None), "{act}");
            let button = if act == "send" { "back" } else { "send" };
            assert_eq!(press(&[&all[..], &[("act", button), ("left", &left)]].concat()).0, Done::LeftOpen(None), "{act}");
        }
        // A note is the reason where there is no other one, as in the inbox.
        let declined = press(&[("a0", "0"), ("note", "a note"), ("act", "decline")]).0;
        assert_eq!(declined, Done::Decided(Decision::Decline("a note".into())));
        // What is missing is said first, and what was said before still holds then.
        let (_, _, left) = press(&[("a0", "0"), ("why", "a reason"), ("act", "send")]);
        let (done, left_out, still) = press(&[("why", "a reason"), ("act", "send"), ("left", &left)]);
        assert_eq!((done, left_out.as_str(), still), (Done::LeftOpen(None), "", left));
    }

    #[test]
    fn a_question_back_needs_words_and_a_refusal_does_not() {
        assert_eq!(decide(SHIP, &[("act", "back"), ("back", "Why?")]).0, Done::Decided(Decision::AskBack("Why?".into())));
        assert!(matches!(decide(SHIP, &[("act", "back"), ("back", " ")]).0, Done::LeftOpen(Some(_))));
        assert_eq!(decide(SHIP, &[("act", "decline"), ("a0", "0")]).0, Done::Decided(Decision::Decline(String::new())));
        assert!(matches!(decide(SHIP, &[("act", "x"), ("a0", "0")]).0, Done::LeftOpen(Some(_))));
    }
}
