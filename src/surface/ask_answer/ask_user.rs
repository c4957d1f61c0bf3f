//! Claude Code's AskUserQuestion: its input from a question, and an answer from its result.
//!
//! The tool takes 1 to 4 questions of 2 to 4 options each, and always lets the user type something else. Further options are listed in
//! the question's text. An option's label is its key, so that the tool returns the value of the answer.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::document::Document;
use crate::error::{Error, Result};
use crate::mailbox::documents::question::{Kind, Part};
use crate::mailbox::{Answer, AnswerValue, Question};
use crate::text::excerpt;

/// The most questions of one call.
pub const MAX_QUESTIONS: usize = 4;
const MAX_OPTIONS: usize = 4;

/// A filler option for a question with fewer than two options: the user types the answer under Other.
const WRITE: &str = "Write an answer";
/// A filler option that declines to answer.
const DECLINE: &str = "Decline to answer";

/// The tool's input.
#[must_use]
pub fn to_input(question: &Question) -> Value {
    let parts = question.parts();
    let questions: Vec<_> =
        parts.iter().enumerate().map(|(n, part)| one(part, &if question.is_batch() { part.key(n) } else { "Question".into() })).collect();
    json!({ "questions": questions })
}

fn one(part: &Part, key: &str) -> Value {
    let multiple = part.kind() == Kind::MultiChoice;
    let mut options: Vec<Value> = match part.kind() {
        Kind::YesNo => vec![json!({"label": "yes", "description": ""}), json!({"label": "no", "description": ""})],
        _ => part.options.0.iter().take(MAX_OPTIONS).map(|c| option(c, multiple)).collect(),
    };
    if options.is_empty() {
        options.push(json!({"label": WRITE, "description": "Choose Other and type it"}));
    }
    if options.len() == 1 {
        options.push(json!({"label": DECLINE, "description": "The agent is told that you do not answer this"}));
    }
    let mut text = part.question.clone();
    if part.options.0.len() > MAX_OPTIONS {
        let more: Vec<_> = part.options.0[MAX_OPTIONS..].iter().map(|c| format!("{} ({})", c.key, c.description)).collect();
        text.push_str(&format!("\nMore options, to be typed under Other: {}", more.join(", ")));
    }
    let header: String = part.header.as_deref().unwrap_or(key).chars().take(12).collect();
    json!({"question": text, "header": header, "multiSelect": multiple, "options": options})
}

fn option(choice: &crate::mailbox::documents::options::Choice, multiple: bool) -> Value {
    let mut option = json!({"label": choice.key, "description": choice.description});
    if let (Some(preview), false, Some(map)) = (&choice.preview, multiple, option.as_object_mut()) {
        map.insert("preview".into(), preview.as_str().into());
    }
    option
}

/// The answer in the tool's result: `{"answers": {QUESTION: ANSWER}, "annotations": {QUESTION: {"notes": TEXT}}}`.
pub fn from_result(
    question: &Question,
    result: &Document<HashMap<String, Value>>,
    answers: &str,
    by: &str,
    channel: &str,
) -> Result<Answer> {
    let answers = Document::<Map<String, Value>>::parse(answers.as_bytes())?.typed;
    let notes = result.typed.get("annotations").and_then(Value::as_object);
    let note_of = |part: &Part| notes.and_then(|n| lookup(n, part, "")).and_then(|a| a.get("notes")).and_then(Value::as_str);
    let parts = question.parts();
    let note: Vec<_> = parts
        .iter()
        .enumerate()
        .filter_map(|(n, p)| note_of(p).map(|note| if question.is_batch() { format!("{}: {note}", p.key(n)) } else { note.to_owned() }))
        .collect();
    let note = (!note.is_empty()).then(|| note.join("\n"));
    if question.is_batch() {
        let mut map = Map::new();
        for (n, part) in parts.iter().enumerate() {
            if let Some(given) = lookup(&answers, part, &part.key(n)) {
                check_written(part, given)?;
                map.insert(part.key(n), given.clone());
            }
        }
        return Ok(Answer { note, ..Answer::value(AnswerValue::Batch(map), by, channel) });
    }
    let part = &parts[0];
    let given = lookup(&answers, part, "").or_else(|| answers.values().next().filter(|_| answers.len() == 1));
    let given = given.ok_or_else(|| {
        Error::invalid("answers", "does not contain this question", "send the result of: ask-answer show ID --format ask-user-question")
    })?;
    check_written(part, given)?;
    if given == DECLINE && part.options.get(DECLINE).is_none() {
        return Ok(Answer::declined(note, by, channel));
    }
    let value = AnswerValue::from_json(given.clone()).map_err(|e| Error::invalid("answers", e, "send text or a list"))?;
    Ok(Answer { note, ..Answer::value(value, by, channel) })
}

/// The tool's keys are the questions' texts, to which further options may have been added.
fn lookup<'a>(map: &'a Map<String, Value>, part: &Part, key: &str) -> Option<&'a Value> {
    let extended = format!("{}\n", part.question);
    let fits = |k: &str| k == part.question || (!key.is_empty() && k == key) || k.starts_with(&extended);
    map.iter().find(|(k, _)| fits(k)).map(|(_, v)| v)
}

fn check_written(part: &Part, given: &Value) -> Result<()> {
    if given == WRITE && part.options.get(WRITE).is_none() {
        let problem = format!("nothing was written for `{}`", excerpt(&part.question, 60));
        return Err(Error::invalid("answers", problem, "choose Other and type the answer, or decline: ask-answer decline ID"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(json: &str) -> Question {
        serde_json::from_str(json).unwrap()
    }

    fn given(question: &Question, json: &str) -> Result<Answer> {
        super::super::answering::from_json(question, json.as_bytes(), "ann", "test")
    }

    #[test]
    fn the_input_fits_the_tools_limits() {
        let many = asked(r#"{"workflow_id":"w","question":"Which?","options":["a","b","c","d","e"],"type":"choice"}"#);
        let input = to_input(&many);
        assert_eq!(input["questions"][0]["options"].as_array().unwrap().len(), 4);
        assert!(input["questions"][0]["question"].as_str().unwrap().contains("e ()"));
        let text = to_input(&asked(r#"{"workflow_id":"w","question":"Why?"}"#));
        assert_eq!(text["questions"][0]["options"].as_array().unwrap().len(), 2);
        assert_eq!(text["questions"][0]["header"], "Question");
    }

    #[test]
    fn a_result_becomes_the_answer_with_its_notes() {
        let one = asked(r#"{"workflow_id":"w","question":"Which?","options":["a","b"]}"#);
        let answer = given(&one, r#"{"answers":{"Which?":"a"},"annotations":{"Which?":{"notes":"soon"}}}"#).unwrap();
        assert_eq!((answer.value.unwrap().to_text(), answer.note.as_deref()), ("a".into(), Some("soon")));
        let batch = asked(r#"{"workflow_id":"w","questions":[{"question":"DB?","options":["pg"]},{"id":"n","question":"Why?"}]}"#);
        let answer = given(&batch, r#"{"answers":{"DB?":"pg","Why?":"because"},"annotations":{"Why?":{"notes":"x"}}}"#).unwrap();
        assert_eq!(answer.value.unwrap().to_text(), r#"{"q1":"pg","n":"because"}"#);
        assert_eq!(answer.note.as_deref(), Some("n: x"));
    }

    #[test]
    fn the_stand_in_options_are_no_answers() {
        let text = asked(r#"{"workflow_id":"w","question":"Why?"}"#);
        assert_eq!(given(&text, r#"{"answers":{"Why?":"Write an answer"}}"#).unwrap_err().exit_code(), 5);
        assert_eq!(given(&text, r#"{"answers":{"Why?":"Decline to answer"}}"#).unwrap().outcome, crate::mailbox::Outcome::Declined);
        assert!(given(&text, r#"{"answers":{"Why?":"a","Why?":"b"}}"#).is_err());
    }
}
