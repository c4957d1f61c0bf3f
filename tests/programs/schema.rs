//! The JSON Schemas of all documents, made from the types that read and write them, and kept in `docs/schema/`.

use schemars::{JsonSchema, schema_for};
use serde_json::{Map, Value, json};

use askbox_agent::Event;
use askbox_cli::program::ErrorReport;
use askbox_config::Config;
use askbox_mailbox::audit::Entry;
use askbox_mailbox::document::SCHEMA_VERSION;
use askbox_mailbox::documents::awaited::Workflow;
use askbox_mailbox::{Answer, Await, Checkpoint, Offer, Question, Verdict};
use askbox_run::breaker::state_machine::Breaker;
use askbox_run::chain::forest::Node;
use askbox_run::money::costs::Booking;
use askbox_run::view::history::HistoryEntry;
use askbox_run::{Run, Story};
use askbox_watch::report::reports::Summary;

/// The name and the schema of every document. Unknown fields are allowed, and kept, in all documents but `config`.
pub fn all() -> Vec<(&'static str, Value)> {
    let named = |(name, schema): (&'static str, Value)| (name, with_id(name, schema));
    documents().into_iter().map(named).collect()
}

/// The schema with the name by which another schema refers to it, and the version of JSON Schema.
fn with_id(name: &str, schema: Value) -> Value {
    let mut fields = Map::new();
    fields.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("$id".into(), json!(format!("urn:askbox:schema:{SCHEMA_VERSION}:{name}")));
    fields.extend(schema.as_object().cloned().unwrap_or_default());
    Value::Object(fields)
}

fn documents() -> Vec<(&'static str, Value)> {
    vec![
        ("question", schema_of::<Question>()),
        ("answer", schema_of::<Answer>()),
        ("offer", schema_of::<Offer>()),
        ("verdict", schema_of::<Verdict>()),
        ("checkpoint", schema_of::<Checkpoint>()),
        ("workflow", schema_of::<Workflow>()),
        ("await", schema_of::<Await>()),
        ("run", schema_of::<Run>()),
        ("config", closed(schema_of::<Config>())),
        ("event", schema_of::<Event>()),
        ("audit", schema_of::<Entry>()),
        ("status", schema_of::<Story>()),
        ("tree", schema_of::<Node>()),
        ("history", schema_of::<HistoryEntry>()),
        ("summary", schema_of::<Summary>()),
        ("cost", schema_of::<Booking>()),
        ("breaker", schema_of::<Breaker>()),
        ("error", schema_of::<ErrorReport>()),
    ]
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schema_for!(T).to_value();
    accept_what_readers_accept(&mut schema);
    schema
}

/// Adds the forms that docs/dev/protocol.md makes readers accept and that the types never write.
fn accept_what_readers_accept(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(version) = map.get_mut("properties").and_then(|fields| fields.get_mut("schema_version")) {
                version["default"] = SCHEMA_VERSION.into();
            }
            if let Some(answer) = map.get_mut("properties").and_then(|fields| fields.get_mut("answer")) {
                accept_bare_answer(answer);
            }
            if let Some(value) = map.get_mut("AnswerValue") {
                value["anyOf"][1]["items"]["type"] = json!(["string", "number"]);
                value["anyOf"].as_array_mut().into_iter().for_each(|forms| {
                    forms.push(json!({"type": "number", "description": "Read as its text."}));
                    forms.push(json!({"type": "boolean", "description": "Read as `yes` or `no`."}));
                });
            }
            if let Some(choice) = map.get_mut("Choice").and_then(Value::as_object_mut) {
                let key = choice["properties"]["label"].clone();
                let names = ["label", "key", "value"];
                names.iter().for_each(|name| choice["properties"][name] = key.clone());
                choice.remove("required");
                choice.insert("oneOf".into(), names.map(|name| json!({"required": [name]})).as_slice().into());
            }
            map.values_mut().for_each(accept_what_readers_accept);
        }
        Value::Array(items) => items.iter_mut().for_each(accept_what_readers_accept),
        _ => {}
    }
}

/// Accepts the bare value of an answer, because a handmade file may contain one. An object with an `outcome` or a `value` is a full answer.
fn accept_bare_answer(answer: &mut Value) {
    let Some(forms) = answer.get_mut("anyOf").and_then(Value::as_array_mut).filter(|forms| forms[0]["$ref"] == "#/$defs/Answer") else {
        return;
    };
    let full = json!({"anyOf": [{"required": ["outcome"]}, {"required": ["value"]}]});
    forms.push(json!({"type": ["string", "number", "boolean"], "description": "The bare value, in a file made by hand."}));
    forms.push(json!({"type": "array", "items": {"type": ["string", "number"]}, "description": "A bare list of values."}));
    forms.push(json!({"type": "object", "not": full, "description": "The bare value of a batch."}));
    // Without this, an object without `outcome` and `value` would also match the full form, because these fields have defaults.
    forms[0] = json!({"allOf": [forms[0], full]});
}

/// Forbids fields that the schema does not name, because an unknown key of the configuration is an error.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            map.values_mut().for_each(|value| *value = closed(value.take()));
            if map.get("type").is_some_and(|t| t == "object") && map.contains_key("properties") {
                map.entry("additionalProperties").or_insert(false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = closed(item.take())),
        _ => {}
    }
    schema
}

/// The file name of a schema: `NAME.schema.json`.
pub fn file_name(name: &str) -> String {
    format!("{name}.schema.json")
}

/// The content of a schema's file.
pub fn text(schema: &Value) -> String {
    format!("{schema:#}\n")
}
