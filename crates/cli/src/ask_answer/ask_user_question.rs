//! Claude Code's AskUserQuestion: its input from a question, and an answer from its result.
//!
//! The tool takes 1 to 4 questions of 2 to 4 options each, and always lets the user type something else. Further options are listed in
//! the question's text. An option's label is its key, so that the tool returns the value of the answer.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use askbox_mailbox::{Answer, AnswerValue, Caller, Document, Error, Kind, Part, Question, Result, WorkflowId, excerpt, spelling};

/// The maximum number of questions in one call.
pub const MAX_QUESTIONS: usize = 4;
const MAX_OPTIONS: usize = 4;

/// A filler option for a question with fewer than two options: the user types the answer under Other.
const WRITE: &str = "Write an answer";
/// A filler option that declines to answer.
const DECLINE: &str = "Decline to answer";

/// The tool's input.
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
    let header: String = part.header.as_deref().unwrap_or(key).chars().take(12).collect();
    json!({"question": shown(part), "header": header, "multiSelect": multiple, "options": options})
}

/// The text that the tool shows: the question's text, with the options that do not fit among the tool's own options.
fn shown(part: &Part) -> String {
    let more: Vec<_> = part.options.0.iter().skip(MAX_OPTIONS).map(|c| format!("{} ({})", c.key, c.description)).collect();
    let more = if more.is_empty() { String::new() } else { format!("\nMore options, to be typed under Other: {}", more.join(", ")) };
    format!("{}{more}", part.question)
}

fn option(choice: &askbox_mailbox::documents::fields::options::Choice, multiple: bool) -> Value {
    let mut option = json!({"label": choice.key, "description": choice.description});
    if let (Some(preview), false, Some(map)) = (&choice.preview, multiple, option.as_object_mut()) {
        map.insert("preview".into(), preview.as_str().into());
    }
    option
}

/// The answer in the tool's result: `{"answers": {QUESTION: ANSWER}, "annotations": {QUESTION: {"notes": TEXT}}}`.
///
/// # Errors
/// [`Error::Invalid`] if the result is for another question, or contains an answer to a question that was not asked.
pub fn from_result(question: &Question, result: &Document<HashMap<String, Value>>, answers: &str, person: &Caller) -> Result<Answer> {
    let parts = question.parts();
    let answers = Document::<Map<String, Value>>::parse(answers.as_bytes())?.typed;
    let answers = by_part(question, &parts, "answers", &answers)?;
    let no_notes = Map::new();
    let notes = result.typed.get("annotations").and_then(Value::as_object).unwrap_or(&no_notes);
    let notes = by_part(question, &parts, "annotations", notes)?;
    let note_of = |n: usize| notes[n].and_then(|a| a.get("notes")).and_then(Value::as_str);
    let note: Vec<_> = parts
        .iter()
        .enumerate()
        .filter_map(|(n, p)| note_of(n).map(|note| if question.is_batch() { format!("{}: {note}", p.key(n)) } else { note.to_owned() }))
        .collect();
    let note = (!note.is_empty()).then(|| note.join("\n"));
    let mut given = Map::new();
    for (n, part) in parts.iter().enumerate() {
        let Some(value) = answers[n] else {
            let problem = format!("does not answer `{}`", excerpt(&part.question, 60));
            return Err(Error::invalid("answers", problem, format!("send {}", whole_result(question))));
        };
        check_written(&question.workflow_id, part, value)?;
        given.insert(part.key(n), value.clone());
    }
    if question.is_batch() {
        return Ok(Answer { note, ..person.value(AnswerValue::Batch(given)) });
    }
    let value = given.remove(&parts[0].key(0)).unwrap_or_default();
    if value == DECLINE && parts[0].options.get(DECLINE).is_none() {
        return Ok(person.declined(note));
    }
    let value = AnswerValue::from_json(value).map_err(|e| Error::invalid("answers", e, "send text or a list"))?;
    Ok(Answer { note, ..person.value(value) })
}

/// The values of a map, in the order of the questions. The keys are the questions' ids or texts (as the tool shows them, or as they were
/// asked). Each key must name one question, and no question may be named twice.
fn by_part<'a>(question: &Question, parts: &[Part], field: &str, map: &'a Map<String, Value>) -> Result<Vec<Option<&'a Value>>> {
    let mut values = vec![None; parts.len()];
    for (key, value) in map {
        let names = |n: usize, part: &Part| {
            let is = |text: &str| spelling::same(key.trim(), text.trim());
            is(&part.question) || is(&shown(part)) || (question.is_batch() && spelling::same(key, &part.key(n)))
        };
        let named: Vec<usize> = (0..parts.len()).filter(|n| names(*n, &parts[*n])).collect();
        let problem = match named[..] {
            [n] if values[n].is_none() => {
                values[n] = Some(value);
                continue;
            }
            [] => format!("`{}` is no question of {}", excerpt(key, 60), question.workflow_id),
            [n] => format!("`{}` is answered twice", excerpt(&parts[n].question, 60)),
            _ => format!("`{}` is the text of several questions", excerpt(key, 60)),
        };
        return Err(Error::invalid(field, problem, format!("send {}", whole_result(question))));
    }
    Ok(values)
}

/// Says in a hint which form a result must have.
fn whole_result(question: &Question) -> String {
    format!(
        "the result of this input, with its questions and no others: ask-answer show {} --format ask-user-question",
        question.workflow_id
    )
}

fn check_written(workflow: &WorkflowId, part: &Part, given: &Value) -> Result<()> {
    if given == WRITE && part.options.get(WRITE).is_none() {
        let problem = format!("nothing was written for `{}`", excerpt(&part.question, 60));
        let fix = format!("choose Other and type the answer, or decline: ask-answer decline {workflow}");
        return Err(Error::invalid("answers", problem, fix));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::ask_answer::ask_user_question::*;

    fn asked(json: &str) -> Question {
        serde_json::from_str(json).unwrap()
    }

    fn given(question: &Question, json: &str) -> Result<Answer> {
        let ann = Caller::person("ann", "test")?;
        super::super::answering::from_json(question, json.as_bytes(), &ann)
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
        assert_eq!(given(&text, r#"{"answers":{"Why?":"Decline to answer"}}"#).unwrap().outcome, askbox_mailbox::Outcome::Declined);
        assert!(given(&text, r#"{"answers":{"Why?":"a","Why?":"b"}}"#).is_err());
    }

    #[test]
    fn a_result_of_other_questions_is_refused() {
        let one = asked(r#"{"workflow_id":"w","question":"Which?","options":["a","b","c","d","e"]}"#);
        let batch =
            asked(r#"{"workflow_id":"w","questions":[{"question":"DB?"},{"id":"n","question":"Why?"},{"id":"m","question":"Why?"}]}"#);
        for (question, result) in [
            (&one, r#"{"answers":{"Another?":"a"}}"#),
            (&one, r#"{"answers":{"Which?":"a","Another?":"b"}}"#),
            (&one, r#"{"answers":{}}"#),
            (&one, r#"{"answers":{"Which?":"a"},"annotations":{"Another?":{"notes":"x"}}}"#),
            (&batch, r#"{"answers":{"DB?":"pg","n":"x"}}"#),
            (&batch, r#"{"answers":{"DB?":"pg","Why?":"x"}}"#),
            (&batch, r#"{"answers":{"DB?":"pg","q1":"pg","n":"x","m":"y"}}"#),
            (&batch, r#"{"answers":{"DB?":"pg","n":"x","m":"y","z":"w"}}"#),
        ] {
            let error = given(question, result).unwrap_err();
            assert_eq!(error.exit_code(), 5, "{result}");
            assert!(error.hint().contains("ask-answer show w --format ask-user-question"), "{result}: {error}");
        }
        // The text as the tool shows it, and ids where two questions have the same text.
        let shown = to_input(&one)["questions"][0]["question"].as_str().unwrap().to_owned();
        assert_eq!(given(&one, &json!({"answers": {shown: "e"}}).to_string()).unwrap().value.unwrap().to_text(), "e");
        assert!(given(&batch, r#"{"answers":{"DB?":"pg","n":"x","m":"y"}}"#).is_ok());
    }
}
