//! A question of the agent to its user, as a form: `elicitation/create`, of the agent itself or of one of its MCP servers, and qwen's
//! question, which comes as a request for a permission.
//!
//! A form is shown whole or not at all. If a part of it was too long to be read, its schema is null, and nobody is asked.
//!
//! codex's choices with a note. A form of codex has a second field beside such a choice, for an answer that is none of the options. A
//! person is shown one choice, which takes their own words too.

use agent_client_protocol_schema::v1::RequestPermissionRequest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::protocol::envelope;
use crate::protocol::permission::{Choice, WaitingCall};
use askbox_agent::stream::lines::Line;
use askbox_agent::stream::wire::{self, Raw};
use askbox_agent::stream::{Asker, Elicitation, FormReply, bounded};
use askbox_mailbox::Untrusted;

/// The parameters of `elicitation/create` that matter here.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct FormRequest<'a> {
    session_id: Raw<'a>,
    mode: Raw<'a>,
    message: Raw<'a>,
    requested_schema: Raw<'a>,
}

impl FormRequest<'_> {
    /// The session that asks.
    pub(super) fn session(&self) -> Option<String> {
        wire::get(self.session_id)
    }

    /// The question, and the form that waits. Only forms are offered to agents, so an address counts as a form that cannot be shown.
    pub(super) fn question(&self, id: String, params: Raw<'_>, line: &Line<'_>) -> (Elicitation, WaitingForm) {
        let is_form = wire::get::<String>(self.mode).is_some_and(|mode| mode == "form");
        let schema = if is_form && is_whole(params, line) { bounded::exact(self.requested_schema) } else { None };
        let mut schema = schema.unwrap_or_default();
        let own_words = OwnWords::take_from(&mut schema);
        let question = Elicitation {
            request_id: id.as_str().into(),
            asker: Asker::AgentOrServer,
            message: wire::get::<String>(self.message).unwrap_or_default().into(),
            url: None,
            schema,
            order: Value::Null,
            own_words: own_words.names(),
        };
        (question, WaitingForm { id, road: Road::Form(own_words) })
    }
}

/// A question that waits for its reply.
#[derive(Debug)]
pub(super) struct WaitingForm {
    /// The id, as JSON.
    pub(super) id: String,
    road: Road,
}

/// How the question came.
#[derive(Debug)]
enum Road {
    Form(OwnWords),
    /// As this request for a permission.
    Permission(WaitingCall),
}

impl WaitingForm {
    /// For a request for a permission.
    pub(super) fn of_permission(call: WaitingCall) -> Self {
        Self { id: call.id.clone(), road: Road::Permission(call) }
    }

    /// The reply, and whether it says what it was to say.
    pub(super) fn reply(&self, reply: &FormReply) -> (String, bool) {
        let (choice, content) = match reply {
            FormReply::Accept(content) => (Choice::Allow, Some(content)),
            FormReply::Decline => (Choice::Refuse, None),
            FormReply::Cancel => (Choice::Cancel, None),
        };
        match &self.road {
            Road::Form(own_words) => {
                let reply = content.map_or_else(|| reply.clone(), |content| FormReply::Accept(own_words.put_into(content)));
                (envelope::reply(&self.id, reply.to_json()), true)
            }
            Road::Permission(call) => {
                let (line, made) = call.reply(choice, content.map(answers));
                (line, made == choice)
            }
        }
    }
}

/// The reply that nobody decides about a form.
pub(super) fn cancelled(id: &str) -> String {
    envelope::reply(id, FormReply::Cancel.to_json())
}

/// qwen's question, if the request for a permission is one. qwen marks it in the call, and names the questions there.
pub(super) fn in_permission(id: &str, asked: &RequestPermissionRequest, params: Raw<'_>, line: &Line<'_>) -> Option<Elicitation> {
    let marked = |meta: &&Map<String, Value>| meta.get("qwenInteractionKind").is_some_and(|kind| kind == "user_question");
    let meta = [asked.tool_call.meta.as_ref(), asked.meta.as_ref()].into_iter().flatten().find(marked)?;
    let in_call = || asked.tool_call.fields.raw_input.as_ref().and_then(|input| input.get("questions"));
    let questions = meta.get("qwenQuestions").filter(|all| all.as_array().is_some_and(|all| !all.is_empty())).or_else(in_call);
    let fits = is_whole(params, line) && params.is_some_and(|params| params.get().len() <= bounded::EXACT_LIMIT);
    let schema = questions.filter(|_| fits).and_then(Value::as_array).and_then(|all| schema(all));
    let own_words = schema.iter().filter_map(|all| all["properties"].as_object()).flat_map(|all| all.keys().cloned()).collect();
    Some(Elicitation {
        request_id: id.into(),
        asker: Asker::Agent,
        // The fields have the questions.
        message: Untrusted::default(),
        url: None,
        schema: schema.unwrap_or_default(),
        order: Value::Null,
        own_words,
    })
}

/// False if a part of the request was too long to be read.
fn is_whole(params: Raw<'_>, line: &Line<'_>) -> bool {
    params.is_some_and(|params| line.dropped_in(params.get()) == 0)
}

/// The form of these questions: a field for each, named by its place. `None` if a question cannot be shown.
fn schema(questions: &[Value]) -> Option<Value> {
    let field = |(at, question): (usize, &Value)| {
        let options: Option<Vec<Value>> = match &question["options"] {
            Value::Null => Some(Vec::new()),
            Value::Array(all) => all.iter().map(option).collect(),
            _ => None,
        };
        let options = options?;
        let title = question["question"].as_str().filter(|text| !text.trim().is_empty())?;
        let field = match question["multiSelect"].as_bool().unwrap_or(false) {
            _ if options.is_empty() => json!({ "type": "string", "title": title }),
            true => json!({ "type": "array", "title": title, "minItems": 1, "items": { "anyOf": options } }),
            false => json!({ "type": "string", "title": title, "oneOf": options }),
        };
        Some((at.to_string(), field))
    };
    let fields: Map<String, Value> = questions.iter().enumerate().map(field).collect::<Option<_>>()?;
    let names: Vec<_> = fields.keys().cloned().collect();
    (!names.is_empty()).then(|| json!({ "type": "object", "properties": fields, "required": names }))
}

fn option(option: &Value) -> Option<Value> {
    let label = option["label"].as_str().or_else(|| option.as_str())?;
    Some(json!({ "const": label, "title": label, "description": option["description"].as_str().unwrap_or_default() }))
}

/// The content of a form as qwen reads it: a text for each question. Several choices are one text, as in qwen's own dialog.
fn answers(content: &Value) -> Value {
    let text = |value: &Value| match value {
        Value::Array(all) => Value::from(all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        other => other.clone(),
    };
    content.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect::<Map<_, _>>().into()
}

/// The option of codex that says: the answer is in the note.
const OTHER: &str = "None of the above";

/// A choice and its note.
#[derive(Debug)]
struct Noted {
    choice: String,
    note: String,
    options: Vec<String>,
}

/// The choices of a form that have a note.
#[derive(Debug, Default)]
struct OwnWords(Vec<Noted>);

impl OwnWords {
    /// Takes the notes out of a form. A field for a secret becomes one that cannot be shown, because an answer stays in the mailbox.
    pub(super) fn take_from(schema: &mut Value) -> Self {
        let required: Vec<String> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return Self::default() };
        fields.values_mut().filter(|field| field["_meta"]["codex"]["isSecret"] == true).for_each(|field| *field = Value::Null);
        let notes: Vec<(String, String)> = fields.iter().filter_map(|(name, field)| Some((name.clone(), choice_of_note(field)?))).collect();
        let noted = |(note, choice): (String, String)| {
            let options = (!required.contains(&note)).then(|| take_other(fields, &choice)).flatten()?;
            fields.shift_remove(&note);
            Some(Noted { choice, note, options })
        };
        Self(notes.into_iter().filter_map(noted).collect())
    }

    /// The names of the choices.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|noted| noted.choice.clone()).collect()
    }

    /// The content of the form as the agent knows it.
    pub(super) fn put_into(&self, content: &Value) -> Value {
        let mut content = content.clone();
        let Some(fields) = content.as_object_mut() else { return content };
        for Noted { choice, note, options } in &self.0 {
            if let Some(said) = fields.get(choice).and_then(Value::as_str).filter(|said| options.iter().all(|option| option != said)) {
                fields.insert(note.clone(), said.into());
                fields.insert(choice.clone(), OTHER.into());
            }
        }
        content
    }
}

/// The name of the choice, if this field is a note beside one.
fn choice_of_note(field: &Value) -> Option<String> {
    let codex = field.get("_meta")?.get("codex")?;
    let is_note = codex.get("role")? == "user_note" && field["type"] == "string";
    codex.get("questionId")?.as_str().filter(|_| is_note).map(str::to_owned)
}

/// Takes the option [`OTHER`] out of a choice. Returns the options that are left; `None` if the field is not such a choice.
fn take_other(fields: &mut Map<String, Value>, choice: &str) -> Option<Vec<String>> {
    let options = fields.get_mut(choice)?.get_mut("oneOf")?.as_array_mut()?;
    let at = options.iter().position(|option| option["const"] == OTHER).filter(|_| options.len() > 1)?;
    options.remove(at);
    Some(options.iter().filter_map(|option| option["const"].as_str()).map(str::to_owned).collect())
}
