//! A call of AskUserQuestion as a question of the mailbox, and the answer as the call's input.
//!
//! The tool's input is `{"questions": [{"question", "header", "multiSelect", "options": [{"label", "description", "preview"}]}]}`. Claude
//! Code takes the answers from `answers`, by the question's text, and notes from `annotations`.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::answer::BY_DEFAULT;
use crate::mailbox::{Answer, AnswerValue, Question, QuestionDocument};

/// The question that the call asks.
pub(super) fn question(workflow: &WorkflowId, input: &Map<String, Value>) -> Result<QuestionDocument> {
    let questions = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = questions.iter().map(text).collect();
    if texts.iter().enumerate().any(|(n, text)| texts[..n].contains(text)) {
        return Err(Error::invalid("questions", "holds the same text twice", "give every question a text of its own"));
    }
    let mut document = match questions {
        [] => return Err(Error::invalid("questions", "is missing or empty", "ask at least one question")),
        [Value::Object(one)] => {
            let mut one = one.clone();
            // Claude Code's names for what a part of a batch says in the same words.
            one.remove("header");
            if one.remove("multiSelect") == Some(Value::Bool(true)) {
                one.insert("type".into(), "multi_choice".into());
            }
            one
        }
        several => Map::from_iter([("questions".to_owned(), Value::from(several))]),
    };
    document.insert("workflow_id".into(), workflow.as_str().into());
    QuestionDocument::parse(Value::Object(document).to_string().as_bytes())
}

/// The call's input with the answers, which make it a call that has been answered.
pub(super) fn with_answers(input: &Map<String, Value>, question: &Question, answer: &Answer, value: &AnswerValue) -> Map<String, Value> {
    let (mut answers, mut annotations) = (Map::new(), Map::new());
    let asked = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (n, part) in question.parts().iter().enumerate() {
        let given = match value {
            AnswerValue::Batch(map) => map.get(&part.key(n)).cloned().and_then(|v| AnswerValue::from_json(v).ok()),
            value => Some(value.clone()),
        };
        let text = asked.get(n).map_or(part.question.as_str(), text);
        answers.insert(text.to_owned(), given.map(in_words).unwrap_or_default().into());
        let note = note(n, answer);
        if !note.is_empty() {
            annotations.insert(text.to_owned(), json!({ "notes": note }));
        }
    }
    let mut input = input.clone();
    input.insert("answers".into(), answers.into());
    if !annotations.is_empty() {
        input.insert("annotations".into(), annotations.into());
    }
    input
}

fn text(question: &Value) -> &str {
    question.get("question").and_then(Value::as_str).unwrap_or_default()
}

/// Claude Code joins the labels of several options with a comma.
fn in_words(value: AnswerValue) -> String {
    match value {
        AnswerValue::List(labels) => labels.join(", "),
        other => other.to_text(),
    }
}

/// The person's words beside the answers go with the first question.
fn note(n: usize, answer: &Answer) -> String {
    let by_default = (answer.by == BY_DEFAULT).then_some("Nobody answered in time, so the default that was set applies.");
    let own = if n == 0 { answer.note.as_deref() } else { None };
    by_default.into_iter().chain(own).collect::<Vec<_>>().join(" ")
}
