//! The JSON Schemas of all documents, made from the types that read and write them, and kept in `docs/schema/`.

#![allow(clippy::disallowed_methods, reason = "schemas go to a folder that the caller names, outside of any mailbox")]

use std::path::Path;

use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use crate::agent::events::Event;
use crate::chain::forest::Node;
use crate::config::Config;
use crate::document::SCHEMA_VERSION;
use crate::error::{IoContext, Result};
use crate::mailbox::audit::Entry;
use crate::mailbox::documents::awaited::Await;
use crate::mailbox::documents::checkpoint::Checkpoint;
use crate::mailbox::documents::offer::{Offer, Verdict};
use crate::mailbox::documents::workflow::Workflow;
use crate::mailbox::{Answer, Question};
use crate::run::attempt::run_json::RunJson;
use crate::run::money::costs::Booking;
use crate::run::view::history::HistoryEntry;
use crate::run::view::status::Status;
use crate::surface::program;
use crate::watch::breaker::state_machine::Breaker;
use crate::watch::report::summary::Summary;

/// The name and the schema of every document. Unknown fields are allowed, and kept, in all documents but `config`.
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("question", of::<Question>()),
        ("answer", of::<Answer>()),
        ("offer", of::<Offer>()),
        ("verdict", of::<Verdict>()),
        ("checkpoint", of::<Checkpoint>()),
        ("workflow", of::<Workflow>()),
        ("await", of::<Await>()),
        ("run", of::<RunJson>()),
        ("config", closed(of::<Config>())),
        ("event", of::<Event>()),
        ("audit", of::<Entry>()),
        ("status", of::<Status>()),
        ("tree", of::<Node>()),
        ("history", of::<HistoryEntry>()),
        ("summary", of::<Summary>()),
        ("cost", of::<Booking>()),
        ("breaker", of::<Breaker>()),
    ]
}

fn of<T: JsonSchema>() -> Value {
    let mut schema = schema_for!(T).to_value();
    accept_what_readers_accept(&mut schema);
    schema
}

/// Adds what docs/protocol.md lets a reader accept beyond what the types write.
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

/// A file made by hand may hold the bare value of an answer. An object with an `outcome` or a `value` is a full answer.
fn accept_bare_answer(answer: &mut Value) {
    let Some(forms) = answer.get_mut("anyOf").and_then(Value::as_array_mut).filter(|forms| forms[0]["$ref"] == "#/$defs/Answer") else {
        return;
    };
    let full = json!({"anyOf": [{"required": ["outcome"]}, {"required": ["value"]}]});
    forms.push(json!({"type": ["string", "number", "boolean"], "description": "The bare value, in a file made by hand."}));
    forms.push(json!({"type": "array", "items": {"type": ["string", "number"]}, "description": "A bare list of values."}));
    forms.push(json!({"type": "object", "not": full, "description": "The bare value of a batch."}));
    // An object without `outcome` and `value` would fit the full form as well, by its defaults.
    forms[0] = json!({"allOf": [forms[0], full]});
}

/// Forbids fields that the schema does not name: an unknown key of the configuration is an error.
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
#[must_use]
pub fn file_name(name: &str) -> String {
    format!("{name}.schema.json")
}

/// The content of a schema's file.
#[must_use]
pub fn text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// Writes all schemas into a folder, and prints their paths.
pub fn write(dir: &Path) -> Result<u8> {
    std::fs::create_dir_all(dir).io("create", dir)?;
    for (name, schema) in all() {
        let path = dir.join(file_name(name));
        std::fs::write(&path, text(&schema)).io("write", &path)?;
        program::print_value(&path.display().to_string())?;
    }
    Ok(0)
}
