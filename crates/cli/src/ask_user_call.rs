//! A call of the MCP tool `ask_user`: turns its arguments into a question of the mailbox.

use serde_json::{Map, Value};

use askbox_mailbox::{Error, QuestionDocument, Result, WorkflowId};

/// The arguments that are fields of the question.
const FIELDS: [&str; 8] = ["question", "options", "type", "questions", "context", "free_text", "range", ASKED_BY];
/// All arguments, for messages.
const ARGUMENTS: &str = "question, options, type, questions, context, free_text, range, workflow_id";

/// The argument that `askbox hook` adds to a call whose question is answered.
pub const QUESTION_ID: &str = "question_id";

/// The argument that `askbox hook` adds to a subagent's call, to name the subagent.
pub const ASKED_BY: &str = "asked_by";

/// The workflow that the call names.
pub fn named_workflow(arguments: &Map<String, Value>) -> Result<Option<WorkflowId>> {
    match arguments.get("workflow_id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => id.parse().map(Some),
        Some(_) => Err(Error::invalid("workflow_id", "is no text", "write an id such as docs-42, or leave it out")),
    }
}

/// The question that the call asks for this workflow.
pub fn question(arguments: &Map<String, Value>, workflow: &WorkflowId) -> Result<QuestionDocument> {
    let mut document = Map::new();
    for (name, value) in arguments {
        match name.as_str() {
            "workflow_id" | QUESTION_ID => {}
            name if FIELDS.contains(&name) => drop(document.insert(name.to_owned(), value.clone())),
            name => {
                let name = askbox_mailbox::text::excerpt(name, 40);
                return Err(Error::invalid(name, "is no argument of ask_user", format!("the arguments are {ARGUMENTS}")));
            }
        }
    }
    document.insert("workflow_id".into(), workflow.as_str().into());
    QuestionDocument::parse(Value::Object(document).to_string().as_bytes())
}
