//! A call of AskUserQuestion as a question of the mailbox, and the answer as the call's input.
//!
//! The tool's input is `{"questions": [{"question", "header", "multiSelect", "options": [{"label", "description", "preview"}]}]}`. If the
//! operator enables its extended form, it also has a `title`, and a question may have a `kind` (`choice`, `text`, `number`) with `min`,
//! `max`, `step`, `unit`, `defaultValue`, `placeholder` and `description`. Claude Code takes the answers from `answers`, by the question's
//! text, and notes and the chosen preview from `annotations`.

use serde_json::{Map, Value};

use crate::words::{self, AskAgain};
use askbox_mailbox::documents::answer::BY_DEFAULT;
use askbox_mailbox::{Answer, AnswerValue, Error, Outcome, Question, QuestionDocument, Result, WorkflowId};

/// The fields of the extended form that describe a number, under the mailbox's names.
const RANGE: [&str; 4] = ["min", "max", "step", "unit"];

/// The question that the call asks.
pub fn question(workflow: &WorkflowId, input: &Map<String, Value>) -> Result<QuestionDocument> {
    let questions = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = questions.iter().map(text).collect();
    if texts.iter().enumerate().any(|(n, text)| texts[..n].contains(text)) {
        return Err(Error::invalid("questions", "holds the same text twice", "give every question a text of its own"));
    }
    let title = input.get("title").and_then(Value::as_str).filter(|title| !title.trim().is_empty());
    let mut document = match questions {
        [] => return Err(Error::invalid("questions", "is missing or empty", "ask at least one question")),
        [Value::Object(one)] => {
            let mut one = extended(one.clone());
            // A single question of the mailbox does not use these names of Claude Code. The parts of a batch do.
            let header = one.remove("header");
            let header = header.as_ref().and_then(Value::as_str).filter(|header| !header.trim().is_empty());
            if one.remove("multiSelect") == Some(Value::Bool(true)) {
                one.insert("type".into(), "multi_choice".into());
            }
            let context: Vec<_> = title.into_iter().chain(header).collect();
            one.extend((!context.is_empty()).then(|| ("context".to_owned(), context.join("\n\n").into())));
            one
        }
        several => {
            let part = |asked: &Value| asked.as_object().map_or_else(|| asked.clone(), |asked| Value::Object(extended(asked.clone())));
            let parts = ("questions".to_owned(), several.iter().map(part).collect());
            Map::from_iter([parts].into_iter().chain(title.map(|title| ("question".to_owned(), title.into()))))
        }
    };
    document.insert("workflow_id".into(), workflow.as_str().into());
    QuestionDocument::parse(Value::Object(document).to_string().as_bytes())
}

/// Translates a question of the extended form. Its kind becomes the mailbox's kind. The other things that this form says to the person
/// become further lines of the question's text.
fn extended(mut asked: Map<String, Value>) -> Map<String, Value> {
    let kind = asked.remove("kind");
    let kind = kind.as_ref().and_then(Value::as_str).filter(|kind| ["text", "number"].contains(kind));
    let range: Map<_, _> = RANGE.into_iter().filter_map(|name| asked.remove_entry(name)).collect();
    if kind == Some("number") && !range.is_empty() {
        asked.insert("range".into(), range.into());
    }
    let mut say = |name: &str| asked.remove(name).map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned));
    let mut lines: Vec<String> = say("description").into_iter().collect();
    lines.extend(say("defaultValue").map(|value| format!("({value} is suggested)")));
    lines.extend(say("placeholder").map(|example| format!("(for example: {example})")));
    if !lines.is_empty() {
        lines.insert(0, text(&Value::Object(asked.clone())).to_owned());
        asked.insert("question".into(), lines.join("\n").into());
    }
    if let Some(kind) = kind {
        asked.insert("type".into(), kind.into());
        asked.remove("multiSelect");
    }
    asked
}

/// The answers to all questions of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The call's input with the answers added, which makes it an answered call.
    pub filled: Map<String, Value>,
    /// The answer to each question: labels, or one text.
    each: Vec<Vec<String>>,
    /// The note to each question, or an empty text.
    notes: Vec<String>,
}

impl Answers {
    /// True if each question has an answer.
    pub fn are_complete(&self) -> bool {
        !self.each.is_empty() && self.each.iter().all(|said| said.iter().any(|words| !words.trim().is_empty()))
    }

    /// The answer to each question for a program whose answers are lists: its labels or its text, with the note behind them.
    pub fn lists(&self) -> Vec<Vec<String>> {
        let list = |(said, note): (&Vec<String>, &String)| {
            let note = (!note.is_empty()).then(|| format!("user_note: {note}"));
            said.iter().cloned().chain(note).collect()
        };
        self.each.iter().zip(&self.notes).map(list).collect()
    }
}

/// The answers to the questions of a call. `Err` are words for the model: the person has not answered.
pub fn answers(input: &Map<String, Value>, question: &Question, answer: &Answer) -> Result<Answers, String> {
    if let Some(asked) = answer.counter_question() {
        return Err(words::asks_back(asked, AskAgain::WithItsTool));
    }
    match (answer.outcome, &answer.value) {
        (Outcome::Answered, Some(value)) => Ok(given(input, question, answer, value)),
        _ => Err(words::declined(answer)),
    }
}

fn given(input: &Map<String, Value>, question: &Question, answer: &Answer, value: &AnswerValue) -> Answers {
    let (mut answers, mut annotations) = (Map::new(), Map::new());
    let asked = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (notes, mut each) = (notes(question, answer), Vec::new());
    for (n, part) in question.parts().iter().enumerate() {
        let given = match value {
            AnswerValue::Batch(map) => map.get(&part.key(n)).cloned().and_then(|v| AnswerValue::from_json(v).ok()),
            value => Some(value.clone()),
        };
        let text = asked.get(n).map_or(part.question.as_str(), text);
        let chosen = given.as_ref().and_then(|given| part.options.get(&given.to_text()));
        let mut annotation = Map::new();
        annotation.extend(chosen.and_then(|choice| choice.preview.clone()).map(|preview| ("preview".to_owned(), preview.into())));
        let note = notes.get(n).filter(|note| !note.is_empty());
        annotation.extend(note.map(|note| ("notes".to_owned(), note.as_str().into())));
        let said = given.as_ref().map(AnswerValue::to_texts).unwrap_or_default();
        // Claude Code joins the labels of several options like this.
        answers.insert(text.to_owned(), said.join(", ").into());
        each.push(said);
        if !annotation.is_empty() {
            annotations.insert(text.to_owned(), annotation.into());
        }
    }
    let mut filled = input.clone();
    filled.insert("answers".into(), answers.into());
    if !annotations.is_empty() {
        filled.insert("annotations".into(), annotations.into());
    }
    Answers { filled, each, notes }
}

fn text(question: &Value) -> &str {
    question.get("question").and_then(Value::as_str).unwrap_or_default()
}

/// The note of each question. A note to a batch is one text. Where a line of it begins with the id of a question and a colon, as
/// AskUserQuestion's own notes do when they become an answer, it is about that question from there on. The rest is about the first.
fn notes(question: &Question, answer: &Answer) -> Vec<String> {
    let parts = question.parts();
    let mut notes = vec![String::new(); parts.len()];
    let mut about = 0;
    for line in answer.note.as_deref().unwrap_or_default().lines() {
        let named = |n: &usize| line.strip_prefix(&parts[*n].key(*n)).and_then(|rest| rest.strip_prefix(": "));
        let found = (0..parts.len()).filter(|_| question.is_batch()).find_map(|n| Some((n, named(&n)?)));
        let (n, line) = found.unwrap_or((about, line));
        about = n;
        if let Some(note) = notes.get_mut(n) {
            note.push_str(if note.is_empty() { "" } else { "\n" });
            note.push_str(line);
        }
    }
    if answer.by == BY_DEFAULT {
        let by_default = "Nobody answered in time, so the default that was set applies.";
        notes.iter_mut().for_each(|note| *note = format!("{by_default} {note}").trim_end().to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_question_keeps_its_header_for_the_person() {
        let shown = |title: &str| {
            let asked = serde_json::json!({"title": title, "questions": [{"question": "Which?", "header": "Database"}]});
            question(&"w".parse().unwrap(), asked.as_object().unwrap()).unwrap().typed.context
        };
        assert_eq!(shown("").as_deref(), Some("Database"));
        assert_eq!(shown("The plan").as_deref(), Some("The plan\n\nDatabase"));
    }

    #[test]
    fn each_note_goes_with_its_own_question() {
        let asked = serde_json::json!({"questions": [{"question": "DB?"}, {"question": "Why?"}, {"question": "When?"}]});
        let asked = asked.as_object().unwrap();
        let question = question(&"w".parse().unwrap(), asked).unwrap().typed;
        let value: AnswerValue = serde_json::from_value(serde_json::json!({"q1": "pg", "q2": "x", "q3": "now"})).unwrap();
        let with = |note: &str| {
            let answer = Answer { note: Some(note.into()), ..Answer::value(value.clone(), "ann", "inbox") };
            Value::Object(answers(asked, &question, &answer).unwrap().filled)["annotations"].clone()
        };
        assert_eq!(
            with("q1: as in\nstaging\nq3: at noon"),
            serde_json::json!({"DB?": {"notes": "as in\nstaging"}, "When?": {"notes": "at noon"}})
        );
        assert_eq!(with("in general"), serde_json::json!({"DB?": {"notes": "in general"}}));
        assert_eq!(with("q2: because"), serde_json::json!({"Why?": {"notes": "because"}}));
    }

    #[test]
    fn an_answer_that_leaves_a_question_open_is_not_complete() {
        let asked = serde_json::json!({"questions": [{"question": "Which?"}, {"question": "When?"}]});
        let asked = asked.as_object().unwrap();
        let question = question(&"w".parse().unwrap(), asked).unwrap().typed;
        let given = |value: serde_json::Value| {
            let value: AnswerValue = serde_json::from_value(value).unwrap();
            answers(asked, &question, &Answer::value(value, "ann", "inbox")).unwrap()
        };
        for open in [serde_json::json!({}), serde_json::json!({"q1": "a"}), serde_json::json!({"q1": "a", "q2": " "})] {
            assert!(!given(open.clone()).are_complete(), "{open}");
        }
        let both = given(serde_json::json!({"q1": ["a", "b"], "q2": "c"}));
        assert!(both.are_complete());
        assert_eq!(both.lists(), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(both.filled["answers"], serde_json::json!({"Which?": "a, b", "When?": "c"}));
    }
}
