//! Questions as interrupts of AG-UI, and answers from its resume entries.
//!
//! An interrupt is one open question. Its `id` names the round and the hash of what is shown, `WORKFLOW/ROUND:HASH`, so the answer counts
//! only for the question exactly as it was listed. The shapes are those of <https://docs.ag-ui.com/concepts/interrupts>.
//!
//! | question | `reason` | `responseSchema` |
//! |---|---|---|
//! | a tool call | `tool_call`, with `toolCallId` | `{"approved": bool, "editedArgs": {FIELD: text}}`; `editedArgs` only if a text of the call may be changed |
//! | yes or no | `confirmation` | a boolean |
//! | any other | `input_required` | a string, a number, a list, or an object with a value for each question |
//!
//! # Limitations
//! AG-UI wants one resume for all interrupts of a run. Each question is answered by itself here. `cancelled` declines the question.
//!
//! `ask-answer --file FILE` without an id: answers each question that a resume entry of AG-UI is about.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::ask_answer_args::AskAnswer;
use crate::ask_answer::give::{give, person};
use crate::{Context, SeenRound, answering, program};
use askbox_mailbox::documents::fields::approval::{EDITED, ONCE};
use askbox_mailbox::{
    Answer, Approval, Caller, Error, Folder, Kind, Mailbox, On, OnExpiry, Part, Question, Result, RoundId, WorkflowId, text,
};

/// Returns the open question of this round as an interrupt.
///
/// # Errors
/// [`Error::Invalid`] if the question cannot be written as JSON.
pub fn interrupt(round: &RoundId, question: &Question) -> Result<Value> {
    let id = format!("{}/{}", round.workflow, SeenRound::of(round.question, question)?);
    let message = if question.question.trim().is_empty() { question.title() } else { question.question.clone() };
    let mut interrupt = json!({
        "id": id, "reason": reason(question), "message": message, "responseSchema": schema(question),
        "metadata": {"askbox": {
            "workflow_id": round.workflow, "question_id": round.question, "context": question.context, "asked_by": question.asked_by,
            "priority": question.priority.unwrap_or(0), "cwd": question.cwd,
        }},
    });
    if let (Some(call), Some(_)) = (&question.tool_call, &question.approval) {
        interrupt["toolCallId"] = json!(call.id);
    }
    // A question that is kept after its time still takes an answer.
    if let Some(at) = question.expires_at.filter(|_| question.on_expiry() != OnExpiry::Keep) {
        interrupt["expiresAt"] = json!(at);
    }
    Ok(interrupt)
}

fn reason(question: &Question) -> &'static str {
    match () {
        // AG-UI's own word needs the id of the call.
        () if question.approval.is_some() && question.tool_call.is_some() => "tool_call",
        () if question.approval.is_some() => "askbox:tool_call",
        () if !question.is_batch() && question.parts().first().is_some_and(|part| part.kind() == Kind::YesNo) => "confirmation",
        () => "input_required",
    }
}

/// The JSON Schema of the payload.
fn schema(question: &Question) -> Value {
    if let Some(approval) = &question.approval {
        return approval_schema(approval);
    }
    let parts = question.parts();
    if !question.is_batch() {
        return parts.first().map_or_else(|| json!({"type": "string"}), part_schema);
    }
    let keys: Vec<String> = parts.iter().enumerate().map(|(n, part)| part.key(n)).collect();
    let mut properties = Map::new();
    for (key, part) in keys.iter().zip(&parts) {
        let mut schema = part_schema(part);
        schema["description"] = json!(part.question);
        properties.insert(key.clone(), schema);
    }
    json!({"type": "object", "properties": properties, "required": keys, "additionalProperties": false})
}

fn approval_schema(approval: &Approval) -> Value {
    let mut properties = json!({"approved": {"type": "boolean"}});
    if let Some(editable) = &approval.editable {
        properties["editedArgs"] = json!({
            "type": "object", "description": "This text of the call, changed. The rest of the call stays as it is.",
            "properties": {editable.field.as_str(): {"type": "string"}}, "required": [editable.field], "additionalProperties": false,
        });
    }
    json!({"type": "object", "properties": properties, "required": ["approved"], "additionalProperties": false})
}

fn part_schema(part: &Part) -> Value {
    let options: Vec<Value> = part.options.0.iter().map(|choice| json!({"const": choice.key, "title": choice.description})).collect();
    let one = match (options.is_empty(), part.free_text == Some(false)) {
        (true, _) => json!({"type": "string", "minLength": 1}),
        (false, true) => json!({"type": "string", "oneOf": options}),
        (false, false) => json!({"anyOf": [{"oneOf": options}, {"type": "string", "minLength": 1, "title": "own words"}]}),
    };
    match part.kind() {
        Kind::YesNo => json!({"type": "boolean"}),
        Kind::Number => {
            let mut schema = json!({"type": "number"});
            let range = part.range.clone().unwrap_or_default();
            range.min.into_iter().for_each(|min| schema["minimum"] = json!(min));
            range.max.into_iter().for_each(|max| schema["maximum"] = json!(max));
            schema
        }
        Kind::MultiChoice => json!({"type": "array", "items": one, "uniqueItems": true}),
        Kind::Choice | Kind::Text => one,
    }
}

/// What the person did with one interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Resolved,
    Cancelled,
}

/// An entry of `resume`.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "interruptId")]
    id: String,
    status: Status,
    payload: Option<Value>,
}

/// A resume entry: the answer to one question, as it was listed.
pub struct Resumed {
    /// The workflow that asks.
    pub workflow: WorkflowId,
    /// The round, with the hash of what was listed.
    pub seen: SeenRound,
    status: Status,
    payload: Option<Value>,
}

/// Reads resume entries: a list of them, an object with the field `resume`, or one entry.
///
/// # Errors
/// [`Error::Invalid`] if there is none, if an entry is none of AG-UI, or if its id is none of [`interrupt`].
pub fn read(bytes: &[u8]) -> Result<Vec<Resumed>> {
    let wrong = |e: String| {
        Error::invalid("resume", e, "send the field `resume` of AG-UI's RunAgentInput: [{\"interruptId\", \"status\", \"payload\"}]")
    };
    let all: Value = serde_json::from_slice(bytes).map_err(|e| wrong(format!("is not valid JSON: {e}")))?;
    let entries = match all {
        Value::Array(entries) => entries,
        Value::Object(mut fields) => match fields.remove("resume") {
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(wrong("is no list".into())),
            None => vec![Value::Object(fields)],
        },
        _ => return Err(wrong("is no list of entries".into())),
    };
    if entries.is_empty() {
        return Err(wrong("has no entry".into()));
    }
    entries
        .into_iter()
        .map(|entry| serde_json::from_value(entry).map_err(|e| wrong(format!("has an entry that {e}"))).and_then(resumed))
        .collect()
}

fn resumed(Entry { id, status, payload }: Entry) -> Result<Resumed> {
    let shown = text::excerpt(&id, 120);
    let wrong = || {
        Error::invalid("interruptId", format!("is `{shown}`, which is no id of a listed question"), "see: ask-answer list --format ag-ui")
    };
    let (workflow, seen) = id.split_once('/').filter(|(_, seen)| seen.contains(':')).ok_or_else(wrong)?;
    Ok(Resumed { workflow: workflow.parse().map_err(|_| wrong())?, seen: seen.parse().map_err(|_| wrong())?, status, payload })
}

impl Resumed {
    /// Returns the answer to the question.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the payload does not fit the question's `responseSchema`.
    pub fn answer(&self, question: &Question, person: &Caller) -> Result<Answer> {
        let wrong = |problem: &str, fix: &str| Err(Error::invalid("payload", problem, fix));
        let payload = match (self.status, &self.payload) {
            (Status::Cancelled, None | Some(Value::Null)) => return Ok(person.declined(None)),
            (Status::Cancelled, Some(_)) => return wrong("stands beside `cancelled`", "leave it out, or write `resolved`"),
            (Status::Resolved, None | Some(Value::Null)) => return wrong("is missing", "write the answer, or the status `cancelled`"),
            (Status::Resolved, Some(payload)) => payload,
        };
        let Some(approval) = &question.approval else { return answering::from_json(question, payload.to_string().as_bytes(), person) };
        match Resolution::deserialize(payload) {
            Ok(Resolution { approved: false, edited_args: None }) => Ok(person.declined(None)),
            Ok(Resolution { approved: true, edited_args: None }) => Ok(person.value(ONCE.into())),
            Ok(Resolution { approved: true, edited_args: Some(edited) }) => {
                let only = approval.editable.as_ref().filter(|_| edited.len() == 1);
                let Some(edited) = only.and_then(|editable| edited.get(&editable.field)).and_then(Value::as_str) else {
                    return wrong("changes more than the text that may be changed", "see `editedArgs` in the question's responseSchema");
                };
                Ok(Answer { edited: Some(edited.to_owned()), ..person.value(EDITED.into()) })
            }
            Ok(Resolution { approved: false, edited_args: Some(_) }) => wrong("changes a call that it refuses", "leave editedArgs out"),
            Err(e) => {
                wrong(&format!("does not say whether the call is allowed: {e}"), "write {\"approved\": true} or {\"approved\": false}")
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolution {
    approved: bool,
    #[serde(rename = "editedArgs", default)]
    edited_args: Option<Map<String, Value>>,
}

/// Tries every entry. The first error counts, and later ones are only told.
pub(super) fn resume(args: &AskAnswer, context: &Context) -> Result<()> {
    let (given, Some(file)) = (&args.reply, &args.reply.file) else { return Ok(()) };
    if given.note.is_some() || given.round.is_some() || given.text {
        let hint = "name the question, or leave them out";
        return Err(Error::usage("--note, --round and --text belong to the answer to one question", hint));
    }
    let entries = read(&program::read_input(file, answering::MAX_JSON)?).map_err(|e| program::in_input(file, e))?;
    let (mailbox, person) = (args.common.open()?, person(args, context)?);
    let mut failed = None;
    for entry in entries {
        if let Err(e) = resume_one(args, context, &mailbox, &entry, &person)
            && let Some(later) = failed.replace(e)
        {
            program::complain(&later);
        }
    }
    failed.map_or(Ok(()), Err)
}

fn resume_one(args: &AskAnswer, context: &Context, mailbox: &Mailbox, entry: &Resumed, person: &Caller) -> Result<()> {
    let (workflow, found) = (&entry.workflow, answering::question(mailbox, &entry.workflow)?);
    if found.id.question != entry.seen.id {
        return Err(Error::conflict(
            format!("{workflow} asks another question by now (round {}, not {})", found.id.question, entry.seen.id),
            "list the questions again: ask-answer list --format ag-ui",
        ));
    }
    let question = &found.document.typed;
    let on = match found.folder {
        Folder::Pending => entry.seen.of_waiting(workflow, found.id.question, question)?,
        _ => On::Round(entry.seen.id),
    };
    give(args, context, mailbox, workflow, on, entry.answer(question, person)?, person)
}
