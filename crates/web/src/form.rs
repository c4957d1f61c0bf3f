//! Turns a filled-in form into an answer. If a form is incomplete, it comes back with everything that was filled in, and says what is
//! missing.
//!
//! | field | content |
//! |---|---|
//! | `aN` | part N: the index of a chosen option, `words`, `yes` or `no`. Repeated if several options may be chosen |
//! | `wN` | part N: the person's own words, or the number |
//! | `mN` | part N: the meaning of its words, which is the index of an option, or `own`. It counts only if `told` names these words |
//! | `note`, `why`, `back` | a note beside the answer, the reason for declining, a question back |
//! | `edited` | the text of a tool call, which the person may change |
//! | `seen` | the change that the person was shown: see [`seen`] |
//! | `act` | `send`, `decline`, `always` (refuse a tool call for good), `stop` (end the session's turn too) or `back`; of a changed call `edit` (show the change), `make` or `again` |
//! | `told` | the warnings given before a decision, by their ids: see [`person`](askbox_cli::person) |

use serde_json::Map;
use uuid::Uuid;

use crate::filled_part::{FilledPart, Open, near_miss, option};
use crate::gate::Posted;
use askbox_cli::person::{self, Act, PressAgain, Texts, about};
use askbox_cli::{AtStake, PersonsDecision};
use askbox_mailbox::{AnswerValue, Part, Question, Shown, text};

/// All words in a form whose question is no longer known.
pub fn words(posted: &Posted) -> Vec<String> {
    let is_change = posted.get("act").is_some_and(|act| ["edit", "make"].contains(&act));
    let is_written = |name: &str| ["note", "why", "back"].contains(&name) || name.starts_with('w') || is_change && name == "edited";
    let words = posted.0.iter().filter(|(name, words)| is_written(name) && !words.trim().is_empty());
    words.map(|(_, words)| words.trim().replace("\r\n", "\n")).collect()
}

/// The id of a changed text, for the question that was shown.
pub fn seen(shown: Shown, edited: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("change {shown}\n{edited}").as_bytes())
}

/// A filled-in form.
#[derive(Debug, Clone, Default)]
pub struct Filled {
    /// The parts of the question.
    pub parts: Vec<FilledPart>,
    /// The note beside the answer.
    pub note: String,
    /// The reason for declining.
    pub why: String,
    /// The question to the agent.
    pub back: String,
    /// The changed text of the tool call; `None` if the person has changed nothing.
    pub edited: Option<String>,
    /// The change that the person was shown.
    pub seen: Option<Uuid>,
    /// The warnings that the person was given before, or is given now.
    pub told: PressAgain,
    /// The texts that the pressed button would leave out. The person is warned about them now.
    pub left_out: Option<AtStake>,
    /// The pressed button.
    pub act: String,
}

/// The result of a form.
#[derive(Debug, PartialEq)]
pub enum Done {
    /// The person decided.
    Decided(PersonsDecision),
    /// The person wants to see what they have changed in the call, which has this text now.
    Change(String),
    /// The form is incomplete. `Filled` says why, or this sentence does.
    LeftOpen(Option<&'static str>),
}

impl Filled {
    /// Reads a form for this question.
    pub fn read(question: &Question, posted: &Posted) -> Self {
        let (about, text) = (about(question), |name: &str| posted.get(name).unwrap_or_default().replace("\r\n", "\n"));
        let told = PressAgain::of_form(&text("told"));
        let part = |(n, part): (usize, &Part)| {
            let words = text(&format!("w{n}"));
            let is_about_these = near_miss(part, &words).is_some_and(|near| told.was_told(about, &near));
            FilledPart {
                chosen: posted.all(&format!("a{n}")).map(str::to_owned).collect(),
                meant: posted.get(&format!("m{n}")).filter(|_| is_about_these).map(str::to_owned),
                words,
                open: None,
            }
        };
        let parts = question.parts().iter().enumerate().map(part).collect();
        let (note, why, back, act) = (text("note"), text("why"), text("back"), text("act"));
        let original = question.approval.as_ref().and_then(|approval| approval.editable.as_ref()).map(|editable| &editable.text);
        let edited = posted.get("edited").map(|_| text("edited")).filter(|edited| original.is_some_and(|original| edited != original));
        let seen = posted.get("seen").and_then(|seen| seen.parse().ok());
        Self { parts, note, why, back, edited, seen, told, left_out: None, act }
    }

    /// Marks the person as having been asked about the words of each part, because a form that is filled in again contains the meanings
    /// that were chosen earlier.
    pub fn was_told_of_meanings(&mut self, question: &Question) {
        for (part, filled) in question.parts().iter().zip(&self.parts).filter(|(_, filled)| filled.meant.is_some()) {
            if let Some(near) = near_miss(part, &filled.words) {
                self.told.tell(about(question), &near);
            }
        }
    }

    fn left_out(&self, question: &Question) -> Option<AtStake> {
        let words = self.parts.iter().map(|part| part.words.as_str()).collect();
        let sends_change = ["edit", "make"].contains(&self.act.as_str());
        let changed = self.edited.as_deref().filter(|_| !sends_change).unwrap_or_default();
        let texts = Texts { words, note: &self.note, left_note: "", why: &self.why, back: &self.back, changed };
        let act = if sends_change { Act::Send } else { Act::named(&self.act)? };
        let texts = person::texts_left_out(&texts, question, act);
        (!texts.is_empty()).then_some(AtStake::LeftOut { act, texts })
    }

    /// The person's decision, according to the pressed button.
    pub fn decide(&mut self, question: &Question) -> Done {
        let (about, done) = (about(question), self.pressed(question));
        let parts = question.parts();
        let near = parts.iter().zip(&self.parts).filter_map(|(part, filled)| near_miss(part, &filled.words));
        let at_stake: Vec<_> = near.chain(self.left_out(question)).collect();
        let mut told = std::mem::take(&mut self.told);
        for thing in told.untold(about, &at_stake) {
            match thing {
                AtStake::LeftOut { .. } if matches!(done, Done::Decided(_) | Done::Change(_)) => self.left_out = Some(thing.clone()),
                near if self.parts.iter().any(|part| matches!(&part.open, Some(Open::NearMiss(open)) if open == near)) => {}
                // If something is missing, the person is told that first.
                _ => continue,
            }
            told.tell(about, thing);
        }
        self.told = told;
        if self.left_out.is_some() { Done::LeftOpen(None) } else { done }
    }

    fn pressed(&mut self, question: &Question) -> Done {
        match self.act.as_str() {
            "back" if text::is_blank(&self.back) => Done::LeftOpen(Some("Write your question first.")),
            "send" => self.answer(question),
            "edit" | "make" => self.change(question),
            "again" => Done::LeftOpen(Some("Change the call below.")),
            act => {
                let why = if self.why.trim().is_empty() { &self.note } else { &self.why };
                let words = if act == "back" { &self.back } else { why };
                let decision = Act::named(act).and_then(|act| act.with(words.clone()));
                decision.map_or(Done::LeftOpen(Some("Press one of the buttons.")), Done::Decided)
            }
        }
    }

    /// The changed call, if exactly this change of this question was shown. Otherwise it has to be shown.
    fn change(&self, question: &Question) -> Done {
        let Some(edited) = self.edited.clone() else {
            return Done::LeftOpen(Some("Nothing is changed. Change the call below, or allow it as it is."));
        };
        let shown = Shown::of_question(question).ok().map(|shown| seen(shown, &edited));
        if self.act == "make" && self.seen.is_some() && self.seen == shown {
            return Done::Decided(PersonsDecision::Edit(edited, self.note.clone()));
        }
        Done::Change(edited)
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
        Done::Decided(PersonsDecision::Answer(value, self.note.clone()))
    }

    /// Everything that was written, for a person whose answer came too late.
    pub fn written(&self) -> String {
        let words = self.parts.iter().map(|part| &part.words).chain(&self.edited).chain([&self.note, &self.why, &self.back]);
        words.map(|words| words.trim()).filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The chosen options, in words.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(question: &str, fields: &[(&str, &str)]) -> (Done, Filled) {
        let question: Question = serde_json::from_str(question).unwrap();
        let posted = Posted(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        let mut filled = Filled::read(&question, &posted);
        if filled.act.is_empty() {
            "send".clone_into(&mut filled.act);
        }
        (filled.decide(&question), filled)
    }

    fn decide(question: &str, fields: &[(&str, &str)]) -> (Done, Vec<Option<Open>>) {
        let (done, filled) = pressed(question, fields);
        (done, filled.parts.into_iter().map(|part| part.open).collect())
    }

    fn answered(question: &str, fields: &[(&str, &str)]) -> String {
        match decide(question, fields) {
            (Done::Decided(PersonsDecision::Answer(value, _)), _) => value.to_json().to_string(),
            (done, open) => format!("{done:?} {open:?}"),
        }
    }

    const SHIP: &str = r#"{"workflow_id":"w","question":"Ship?","options":{"merge":"Into one","keep":"Keep both"}}"#;

    #[test]
    fn a_form_means_its_choice_and_an_empty_one_decides_nothing() {
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
        let sized = r#"{"workflow_id":"w","question":"?","type":"number","range":{"unit":"GB"}}"#;
        assert_eq!(["+5", "5.", "5 GB"].map(|words| answered(sized, &[("w0", words)])), [r#""+5""#, r#""5.""#, r#""5""#]);
        assert_eq!(answered(r#"{"workflow_id":"w","question":"?"}"#, &[("w0", "two\nlines")]), r#""two\nlines""#);
        let several = r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a","b","c"]}"#;
        assert_eq!(answered(several, &[("a0", "2"), ("a0", "0"), ("w0", "and fuzz it")]), r#"["c","a","and fuzz it"]"#);
    }

    #[test]
    fn words_near_an_option_are_asked_back_once_for_these_words() {
        let near = |fields: &[(&str, &str)]| decide(SHIP, fields).1.remove(0);
        let is_near = |open: Option<Open>| matches!(open, Some(Open::NearMiss(AtStake::NearMiss { near, .. })) if near[0].key == "merge");
        for words in ["mrege", "mreg", "Merge!", "merg e"] {
            assert!(is_near(near(&[("w0", words)])), "{words}");
        }
        let told = |words| pressed(SHIP, &[("w0", words), ("act", "send")]).1.told.to_form();
        let (these, others) = (told("mrege"), told("merg"));
        for told in ["", others.as_str()] {
            assert!(is_near(near(&[("w0", "mrege"), ("m0", "own"), ("told", told)])), "{told}");
        }
        assert_eq!(answered(SHIP, &[("w0", "mrege"), ("m0", "own"), ("told", &these)]), r#""mrege""#);
        assert_eq!(answered(SHIP, &[("w0", "mrege"), ("m0", "0"), ("told", &these)]), r#""merge""#);
        assert!(is_near(near(&[("w0", "mrege"), ("told", &these)])), "the button alone chooses no meaning");
        assert_eq!(answered(SHIP, &[("w0", " MERGE ")]), r#""merge""#);
    }

    #[test]
    fn every_part_of_a_batch_is_answered_or_comes_back() {
        let batch = r#"{"workflow_id":"w","questions":[{"id":"db","question":"Which?","options":["pg","sqlite"]},{"question":"How many?","type":"number"}]}"#;
        assert_eq!(answered(batch, &[("a0", "0"), ("w1", "3")]), r#"{"db":"pg","q2":"3"}"#);
        let (done, open) = decide(batch, &[("a0", "0")]);
        assert!(done == Done::LeftOpen(None) && open[0].is_none() && open[1].is_some());
    }

    #[test]
    fn a_text_that_the_button_does_not_send_is_asked_about_once() {
        let press = |fields: &[(&str, &str)]| {
            let (done, filled) = pressed(SHIP, fields);
            let left_out = filled.left_out.map(|left| left.told("this button again")).unwrap_or_default();
            (done, left_out, filled.told.to_form())
        };
        let all = [("a0", "words"), ("w0", "neither"), ("note", "a note"), ("why", "a reason"), ("back", "which?")];
        for (act, asked) in [
            ("send", &["your question to the agent (\"which?\")", "why you decline", "this button again sends your answer without it"][..]),
            ("decline", &["your own words", "the note", "your question to the agent", "this button again declines without it"]),
            ("back", &["your own words", "the note", "why you decline", "this button again asks the agent back without it"]),
        ] {
            let fields = [&all[..], &[("act", act)]].concat();
            let (done, left_out, told) = press(&fields);
            assert!(done == Done::LeftOpen(None) && asked.iter().all(|words| left_out.contains(words)), "{act}: {left_out}");
            // The same button goes on. For another text, or with another button, the person is asked again.
            assert!(matches!(press(&[&fields[..], &[("told", &told)]].concat()).0, Done::Decided(_)), "{act}");
            let other = match act {
                "send" => ("why", "another reason"),
                _ => ("w0", "none of them"),
            };
            assert_eq!(press(&[&[other, ("told", &told)], &fields[..]].concat()).0, Done::LeftOpen(None), "{act}");
            let button = if act == "send" { "back" } else { "send" };
            assert_eq!(press(&[&all[..], &[("act", button), ("told", &told)]].concat()).0, Done::LeftOpen(None), "{act}");
        }
        // Without another reason, the note is the reason, as in the inbox.
        let declined = press(&[("a0", "0"), ("note", "a note"), ("act", "decline")]).0;
        assert_eq!(declined, Done::Decided(PersonsDecision::Decline("a note".into())));
        // The person is first told what is missing. The earlier warning then still holds.
        let (_, _, told) = press(&[("a0", "0"), ("why", "a reason"), ("act", "send")]);
        let (done, left_out, still) = press(&[("why", "a reason"), ("act", "send"), ("told", &told)]);
        assert_eq!((done, left_out.as_str(), still), (Done::LeftOpen(None), "", told));
    }

    #[test]
    fn a_question_back_needs_words_and_a_refusal_does_not() {
        assert_eq!(decide(SHIP, &[("act", "back"), ("back", "Why?")]).0, Done::Decided(PersonsDecision::AskBack("Why?".into())));
        assert!(matches!(decide(SHIP, &[("act", "back"), ("back", " ")]).0, Done::LeftOpen(Some(_))));
        assert_eq!(decide(SHIP, &[("act", "decline"), ("a0", "0")]).0, Done::Decided(PersonsDecision::Decline(String::new())));
        assert!(matches!(decide(SHIP, &[("act", "x"), ("a0", "0")]).0, Done::LeftOpen(Some(_))));
    }
}
