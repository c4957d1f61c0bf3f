//! A waiting question as a form that a client shows to its user (`inputRequests`), and the user's reply (`inputResponses`).
//!
//! Only a reply with a content is an answer. A client without a user declines or cancels by itself, so both leave the question as it is.

use rmcp::model::{InputRequests, InputResponses};
use serde_json::{Map, Value, json};

use askbox_mailbox::documents::asked::{Kind, Part};
use askbox_mailbox::{Question, QuestionId};

/// The field of a question that is not a batch.
const ANSWER: &str = "answer";

/// The form, under the id of the question. `None` if the client's SDK has no such form.
pub(super) fn of(question: &Question, id: QuestionId) -> Option<InputRequests> {
    let fields: Map<String, Value> = question.parts().iter().enumerate().map(|(n, part)| (key(question, part, n), field(part))).collect();
    let message = [Some(question.title()), question.context.clone()].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let schema = json!({ "type": "object", "required": fields.keys().collect::<Vec<_>>(), "properties": fields });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    serde_json::from_value(json!({ id.to_string(): { "method": "elicitation/create", "params": params } })).ok()
}

/// The value that the user gives as the answer to this question. `None` if the user gives none.
pub(super) fn answer(question: &Question, id: QuestionId, responses: &InputResponses) -> Option<Value> {
    let response = responses.get(&id.to_string()).filter(|response| response["action"] == "accept")?;
    let content = response["content"].as_object()?;
    if question.is_batch() { Some(content.clone().into()) } else { content.get(ANSWER).cloned() }
}

fn key(question: &Question, part: &Part, n: usize) -> String {
    if question.is_batch() { part.key(n) } else { ANSWER.to_owned() }
}

fn field(part: &Part) -> Value {
    let choices = || -> Vec<Value> {
        part.options.0.iter().map(|choice| json!({ "const": choice.key, "title": label(&choice.key, &choice.description) })).collect()
    };
    let mut field = match part.kind() {
        Kind::Choice => json!({ "type": "string", "oneOf": choices() }),
        Kind::MultiChoice => json!({ "type": "array", "items": { "anyOf": choices() } }),
        Kind::YesNo => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Number => {
            let range = part.range.clone().unwrap_or_default();
            let bounds = [("minimum", range.min), ("maximum", range.max)];
            let mut field = json!({ "type": "number" });
            bounds.into_iter().for_each(|(name, bound)| bound.into_iter().for_each(|bound| field[name] = bound.into()));
            field
        }
    };
    field["title"] = part.question.as_str().into();
    field
}

fn label(key: &str, description: &str) -> String {
    if description.is_empty() { key.to_owned() } else { format!("{key}: {description}") }
}
