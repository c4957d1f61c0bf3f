//! The tools' names, arguments and descriptions. Each word costs tokens in every session that loads it.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::{Value, json};

pub(super) const ASK_USER: &str = "ask_user";
pub(super) const CHECK_ANSWER: &str = "check_answer";
pub(super) const SAVE_CHECKPOINT: &str = "save_checkpoint";
pub(super) const LOAD_CHECKPOINT: &str = "load_checkpoint";
pub(super) const LIST_QUESTIONS: &str = "list_questions";
pub(super) const RUN_STATUS: &str = "run_status";
pub(super) const STOP_RUN: &str = "stop_run";
pub(super) const ANSWER_QUESTION: &str = "answer_question";

/// All tools that this server offers. `ask_as` is the name of the tool that asks, in place of [`ASK_USER`].
pub(super) fn all(may_answer: bool, ask_as: Option<&str>) -> Vec<Tool> {
    let workflow = json!({"type": "string", "description": "The workflow's id, such as docs-42"});
    let mut tools = vec![
        tool(
            ask_as.map_or(Cow::Borrowed(ASK_USER), |name| Cow::Owned(name.to_owned())),
            "Ask the user a question that they may answer minutes or days later. If the result holds no answer, do what it says; never guess one. \
             An answer decides what you asked and permits no tool call.",
            json!({"type": "object", "additionalProperties": false, "properties": {
                "question": {"type": "string"},
                "options": options(),
                "type": {"enum": ["choice", "multi_choice", "yes_no", "text", "number"]},
                "questions": {"type": "array", "description": "Several questions at once, in place of `question`", "items": {
                    "type": "object", "required": ["question"], "properties": {
                        "id": {"type": "string"}, "question": {"type": "string"}, "header": {"type": "string"},
                        "multiSelect": {"type": "boolean"}, "options": options(),
                    }}},
                "context": {"type": "string", "description": "What the user must know to decide, in Markdown"},
                "free_text": {"type": "boolean", "description": "Whether the user may answer in their own words; default true"},
                "range": {"type": "object", "description": "For a number: min, max, step, unit; each may be missing"},
                "workflow_id": {"type": "string", "description": "Your line of work, such as docs-42: names your checkpoint; one open question each"},
                "question_id": {"type": "string", "description": "Leave it out"},
            }}),
        ),
        tool(
            CHECK_ANSWER,
            "Whether a question is answered, and the answer. Waits for nothing.",
            with(&workflow, json!({}), &["workflow_id"]),
        ),
        tool(
            SAVE_CHECKPOINT,
            "Save the state from which a fresh process can go on.",
            with(
                &workflow,
                json!({"checkpoint": {"type": "object", "properties": {
                    "current_step": {"type": "string"}, "completed_steps": {"type": "array", "items": {"type": "string"}},
                    "pending_steps": {"type": "array", "items": {"type": "string"}}, "files": {"type": "object"},
                    "state_variables": {"type": "object"}, "context": {"type": "string"}, "next_action": {"type": "string"},
                }}}),
                &["workflow_id", "checkpoint"],
            ),
        ),
        tool(LOAD_CHECKPOINT, "The saved state of a workflow, as JSON.", with(&workflow, json!({}), &["workflow_id"])),
        tool(LIST_QUESTIONS, "All questions that wait for the user.", with(&Value::Null, json!({}), &[])),
        tool(RUN_STATUS, "How a workflow stands, or all that are open: one JSON object a line.", with(&workflow, json!({}), &[])),
        tool(
            STOP_RUN,
            "Stop the run of a workflow at its next tool boundary. It can be continued.",
            with(&workflow, json!({}), &["workflow_id"]),
        ),
    ];
    if may_answer {
        tools.push(tool(
            ANSWER_QUESTION,
            "Answer a question with what your user decided. Never decide yourself.",
            with(
                &workflow,
                json!({
                    "answer": {"description": "An option's key or words of the user's; a list for several options; an object by id for several questions"},
                    "question_id": {"type": "string", "description": "Refuse if another question is open by now"},
                }),
                &["workflow_id", "answer"],
            ),
        ));
    }
    tools
}

fn options() -> Value {
    json!({"type": "array", "items": {"type": "object", "required": ["label"], "properties": {
        "label": {"type": "string"}, "description": {"type": "string"}}}})
}

/// A schema with the workflow's id, unless `workflow` is null, and with further properties.
fn with(workflow: &Value, more: Value, required: &[&str]) -> Value {
    let mut properties = serde_json::Map::new();
    if !workflow.is_null() {
        properties.insert("workflow_id".into(), workflow.clone());
    }
    if let Value::Object(more) = more {
        properties.extend(more);
    }
    json!({"type": "object", "additionalProperties": false, "properties": properties, "required": required})
}

fn tool(name: impl Into<Cow<'static, str>>, description: &'static str, schema: Value) -> Tool {
    let schema = if let Value::Object(schema) = schema { schema } else { serde_json::Map::new() };
    Tool::new(name, description, Arc::new(schema))
}
