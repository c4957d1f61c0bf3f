//! One part of a filled-in form, and its value.
//!
//! An answer in words for people: each chosen option with its meaning.

use askbox_cli::AtStake;
use askbox_mailbox::documents::checks::match_option::Meaning;
use askbox_mailbox::{Answer, AnswerValue, Choice, Kind, Part, Question, Range, match_option, text};

/// One filled-in part.
#[derive(Debug, Clone, Default)]
pub struct FilledPart {
    /// The chosen options.
    pub chosen: Vec<String>,
    /// The written words.
    pub words: String,
    /// The meaning of the words, if the person was asked: the index of an option, or `own`.
    pub meant: Option<String>,
    /// The reason why the part is not answered yet.
    pub open: Option<Open>,
}

/// The reason why a part has no value yet.
#[derive(Debug, Clone, PartialEq)]
pub enum Open {
    /// A sentence for the person.
    Because(&'static str),
    /// The words may mean an option.
    NearMiss(AtStake),
}

impl FilledPart {
    /// True if this was chosen.
    pub fn has(&self, chosen: &str) -> bool {
        self.chosen.iter().any(|c| c == chosen)
    }

    pub fn value(&self, part: &Part) -> Result<AnswerValue, Open> {
        let is_written = !self.words.trim().is_empty();
        let text = |text: &str| Ok(AnswerValue::Text(text.to_owned()));
        let keys: Vec<String> = self.chosen.iter().filter_map(|place| option(part, place)).map(|choice| choice.key.clone()).collect();
        match part.kind() {
            Kind::YesNo => match self.chosen.as_slice() {
                [answer] if answer == "yes" || answer == "no" => text(answer),
                _ => Err(Open::Because("Choose yes or no.")),
            },
            Kind::Number => match Range::without_unit(part.range.as_ref(), &self.words) {
                number if number.parse().is_ok_and(f64::is_finite) => text(number),
                _ => Err(Open::Because("Write a number.")),
            },
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
                // In a hurry, the person may have meant either of them.
                ([_], true) => Err(Open::Because(
                    "An option is chosen, and words of your own are written as well. Choose one of both; words beside an option are a note.",
                )),
                ([], true) => self.own_words(part).map(AnswerValue::Text),
                ([], false) if self.has("words") => Err(Open::Because("Write your own words first.")),
                _ => Err(Open::Because("Choose one.")),
            },
        }
    }

    /// The person's own words, unless they may mean an option.
    fn own_words(&self, part: &Part) -> Result<String, Open> {
        // If the words spell out an option of a single choice, they mean that option. If several may be chosen, it may be one that the
        // person left out.
        if let Meaning::Option(choice) = match_option::meaning(&part.options, &self.words) {
            return Ok(choice.key.clone());
        }
        match (near_miss(part, &self.words), self.meant.as_deref()) {
            (None, _) | (Some(_), Some("own")) => Ok(self.words.clone()),
            (Some(near), meant) => meant.and_then(|place| option(part, place)).map(|choice| choice.key.clone()).ok_or(Open::NearMiss(near)),
        }
    }
}

pub fn option<'a>(part: &'a Part, place: &str) -> Option<&'a Choice> {
    part.options.0.get(place.parse::<usize>().ok()?)
}

/// The options that the person's own words may mean.
pub fn near_miss(part: &Part, words: &str) -> Option<AtStake> {
    let takes_options = matches!(part.kind(), Kind::Choice | Kind::MultiChoice) && !words.trim().is_empty();
    match match_option::meaning(&part.options, words) {
        Meaning::NearMiss(near) if takes_options => {
            let near = near.into_iter().cloned().collect();
            Some(AtStake::NearMiss { asked: part.question.clone(), words: words.trim().to_owned(), near })
        }
        _ => None,
    }
}

/// The answer to one part of a question.
#[derive(Debug, Clone)]
pub struct GivenPart {
    /// The part's text, or empty if the question has one part.
    pub asked: String,
    /// The chosen options, or the person's own words.
    pub said: Vec<Said>,
}

/// A chosen option, or the person's own words.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The option's label, or the words.
    pub words: String,
    /// The option's description, or empty.
    pub meaning: String,
}

impl GivenPart {
    /// The answer without its meaning.
    pub fn words(&self) -> String {
        self.said.iter().map(|said| said.words.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The parts of an answer. Empty for a refusal, and for a question back.
pub fn in_words(question: &Question, answer: &Answer) -> Vec<GivenPart> {
    let parts = question.parts();
    match &answer.value {
        None => Vec::new(),
        Some(AnswerValue::Batch(map)) => {
            let of = |(n, part): (usize, &Part)| {
                let value = map.get(&part.key(n)).and_then(|value| AnswerValue::from_json(value.clone()).ok())?;
                let asked = if part.question.is_empty() { part.header.as_deref().unwrap_or_default() } else { &part.question };
                Some(GivenPart { asked: text::printable(asked), said: said(part, &value) })
            };
            parts.iter().enumerate().filter_map(of).collect()
        }
        Some(AnswerValue::Text(word)) if answer.edited.is_some() => {
            let edited = Said { words: word.clone(), meaning: text::visible(answer.edited.as_deref().unwrap_or_default()) };
            vec![GivenPart { asked: String::new(), said: vec![edited] }]
        }
        Some(value) => parts.first().map(|part| GivenPart { asked: String::new(), said: said(part, value) }).into_iter().collect(),
    }
}

fn said(part: &Part, value: &AnswerValue) -> Vec<Said> {
    let of = |words: &String| {
        let meaning = part.options.get(words).map(|choice| text::printable(&choice.description));
        Said { words: text::printable(words), meaning: meaning.unwrap_or_default() }
    };
    value.to_texts().iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_option_is_told_with_its_meaning() {
        let question = r#"{"workflow_id":"w","questions":[
            {"id":"db","question":"Which database?","header":"Store","options":[{"label":"pg","description":"A server"},"sqlite"],"type":"multi_choice"},
            {"question":"How many?","type":"number"}]}"#;
        let question: Question = serde_json::from_str(question).unwrap();
        let value = AnswerValue::from_json(serde_json::json!({"db": ["pg", "mine"], "q2": "3"})).unwrap();
        let given = in_words(&question, &Answer::value(value, "ann", "web"));
        let said = |words: &str, meaning: &str| Said { words: words.into(), meaning: meaning.into() };
        assert_eq!(given[0].asked, "Which database?");
        assert_eq!(given[0].said, [said("pg", "A server"), said("mine", "")]);
        assert_eq!((given[0].words().as_str(), given[1].said[0].words.as_str()), ("pg, mine", "3"));
        assert!(in_words(&question, &Answer::declined(None, "ann", "web")).is_empty());
    }
}
