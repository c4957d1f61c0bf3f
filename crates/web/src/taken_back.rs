//! Answers that were given and taken back on this page, and forms that came too late. A question's form is shown again with the earlier answer
//! filled in, and the page of a question that is over shows the draft. Only the last few are kept, in memory, and each is shown only to its
//! own device.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::filled_part::FilledPart;
use crate::form::Filled;
use crate::send::CHANNEL;
use askbox_mailbox::{Answer, AnswerValue, Kind, Part, Question, RoundId, thread};

/// The maximum number of answers that are kept. Each may be as large as a form.
const KEPT: usize = 16;

/// The answers that were taken back, and the drafts of forms that came too late.
#[derive(Debug, Default)]
pub struct TakenBack {
    answers: Kept<Answer>,
    drafts: Kept<Draft>,
}

/// The content of a form that was not sent, in words.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The chosen options.
    pub chosen: String,
    /// The written texts.
    pub written: String,
}

impl TakenBack {
    /// Keeps an answer that was taken back, if this device gave it on the page.
    pub fn keep(&self, round: &RoundId, answer: Answer, device: &str) {
        if answer.by == device && answer.channel == CHANNEL {
            keep(&self.answers, round, device, answer);
        }
    }

    /// Keeps the draft of a form that came too late.
    pub fn keep_draft(&self, round: &RoundId, draft: Draft, device: &str) {
        keep(&self.drafts, round, device, draft);
    }

    /// The draft of this device's form that came too late.
    pub fn draft(&self, round: &RoundId, device: &str) -> Draft {
        find(&self.drafts, round, device).unwrap_or_default()
    }

    /// The form for this device. It contains the answer that this device took back, if there is one.
    pub fn filled(&self, round: &RoundId, question: &Question, device: &str) -> Filled {
        find(&self.answers, round, device).map_or_else(Filled::default, |answer| filled(question, &answer))
    }
}

type Kept<T> = Mutex<VecDeque<(RoundId, String, T)>>;

fn keep<T>(kept: &Kept<T>, round: &RoundId, device: &str, it: T) {
    let mut kept = thread::locked(kept);
    kept.retain(|(of, by, _)| of != round || by != device);
    kept.push_back((round.clone(), device.to_owned(), it));
    if kept.len() > KEPT {
        kept.pop_front();
    }
}

fn find<T: Clone>(kept: &Kept<T>, round: &RoundId, device: &str) -> Option<T> {
    let kept = thread::locked(kept);
    kept.iter().find(|(of, by, _)| of == round && by == device).map(|(_, _, it)| it.clone())
}

/// The form filled in with this answer.
fn filled(question: &Question, answer: &Answer) -> Filled {
    let note = answer.note.clone().unwrap_or_default();
    let parts = question.parts();
    let mut filled = match &answer.value {
        None if answer.asks_back => Filled { back: note, ..Filled::default() },
        None => Filled { why: note, ..Filled::default() },
        Some(AnswerValue::Batch(map)) => {
            let value = |(n, part): (usize, &Part)| map.get(&part.key(n)).and_then(|value| AnswerValue::from_json(value.clone()).ok());
            let filled = |(n, part)| value((n, part)).map(|value| of_part(part, &value)).unwrap_or_default();
            Filled { parts: parts.iter().enumerate().map(filled).collect(), note, ..Filled::default() }
        }
        Some(_) if answer.edited.is_some() => Filled { edited: answer.edited.clone(), note, ..Filled::default() },
        Some(value) => Filled { parts: parts.first().map(|part| of_part(part, value)).into_iter().collect(), note, ..Filled::default() },
    };
    filled.was_told_of_meanings(question);
    filled
}

fn of_part(part: &Part, value: &AnswerValue) -> FilledPart {
    let texts = value.to_texts();
    let place = |text: &String| part.options.place(text);
    let mut filled = FilledPart::default();
    match part.kind() {
        Kind::YesNo => filled.chosen = texts,
        Kind::Number | Kind::Text => filled.words = texts.join("\n"),
        Kind::Choice | Kind::MultiChoice => {
            let own: Vec<_> = texts.iter().filter(|text| place(text).is_none()).map(String::as_str).collect();
            filled.words = own.join("\n");
            filled.chosen = texts.iter().filter_map(place).map(|place| place.to_string()).collect();
            if !own.is_empty() && part.kind() == Kind::Choice {
                filled.chosen.push("words".into());
            }
            // The person already said that these words do not mean an option.
            filled.meant = (!own.is_empty()).then(|| "own".into());
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Done;
    use askbox_cli::person::PersonsDecision;

    /// Sends the form that is filled in again, and returns the answer in it.
    fn again(question: &str, value: serde_json::Value) -> String {
        let question: Question = serde_json::from_str(question).unwrap();
        let answer = Answer { note: Some("a note".into()), ..Answer::value(AnswerValue::from_json(value).unwrap(), "ann", CHANNEL) };
        let mut filled = filled(&question, &answer);
        filled.act = "send".into();
        match filled.decide(&question) {
            Done::Decided(PersonsDecision::Answer(value, note)) => format!("{} {note}", value.to_json()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_form_that_is_filled_in_again_says_what_was_answered() {
        const SHIP: &str = r#"{"workflow_id":"w","question":"Ship?","options":["merge","keep"]}"#;
        const SEVERAL: &str = r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a","b","c"]}"#;
        const BATCH: &str = r#"{"workflow_id":"w","questions":[{"id":"db","question":"Which?","options":["pg","sqlite"]},{"question":"How many?","type":"number"}]}"#;
        for (question, value) in [
            (SHIP, r#""keep""#),
            (SHIP, r#""mrege""#),
            (SEVERAL, r#"["a","c"]"#),
            (SEVERAL, r#"["a","two\nlines"]"#),
            (BATCH, r#"{"db":"sqlite","q2":"3"}"#),
            (r#"{"workflow_id":"w","question":"?","type":"yes_no"}"#, r#""no""#),
            (r#"{"workflow_id":"w","question":"?","type":"number"}"#, r#""4.5""#),
            (r#"{"workflow_id":"w","question":"?"}"#, r#""two\nlines""#),
        ] {
            assert_eq!(again(question, serde_json::from_str(value).unwrap()), format!("{value} a note"), "{question}");
        }
    }

    #[test]
    fn what_a_device_took_back_is_shown_to_no_other_one() {
        let (kept, round) = (TakenBack::default(), format!("w.{}", uuid::Uuid::nil()));
        let round = RoundId::from_file_name(&format!("{round}.json")).unwrap();
        let question: Question = serde_json::from_str(r#"{"workflow_id":"w","question":"?"}"#).unwrap();
        let given = |by: &str, channel: &str| Answer::declined(Some("no".into()), by, channel);
        kept.keep(&round, given("ann", "ask-answer"), "ann");
        kept.keep(&round, given("bob", CHANNEL), "ann");
        assert_eq!(kept.filled(&round, &question, "ann").why, "");
        kept.keep(&round, given("ann", CHANNEL), "ann");
        assert_eq!(kept.filled(&round, &question, "ann").why, "no");
        assert_eq!(kept.filled(&round, &question, "bob").why, "");
    }
}
