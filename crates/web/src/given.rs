//! An answer in words for people: each chosen option with its meaning.

use askbox_mailbox::{Answer, AnswerValue, Part, Question, text};

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
    let texts = match value {
        AnswerValue::List(texts) => texts.clone(),
        other => vec![other.to_text()],
    };
    let of = |words: &String| {
        let meaning = part.options.get(words).map(|choice| text::printable(&choice.description));
        Said { words: text::printable(words), meaning: meaning.unwrap_or_default() }
    };
    texts.iter().map(of).collect()
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
