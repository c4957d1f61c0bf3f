//! The JSON Schemas of all documents, made from the types that read and write them. `docs/schema/` keeps them for others.

#![allow(clippy::disallowed_methods, reason = "schemas go to a folder that the caller names, outside of any mailbox")]

use std::path::Path;

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use crate::agent::events::Event;
use crate::chain::forest::Node;
use crate::config::Config;
use crate::error::{IoContext, Result};
use crate::mailbox::audit::Entry;
use crate::mailbox::awaits::Await;
use crate::mailbox::documents::checkpoint::Checkpoint;
use crate::mailbox::documents::workflow::Workflow;
use crate::mailbox::{Answer, Question};
use crate::run::attempt::record::Run;
use crate::run::money::costs::Booking;
use crate::run::view::status::Status;
use crate::watch::breaker::state_machine::Breaker;
use crate::watch::report::summary::Summary;

/// Every document's name and schema. Unknown fields are allowed everywhere but in `config`: they are kept.
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("question", of::<Question>()),
        ("answer", of::<Answer>()),
        ("checkpoint", of::<Checkpoint>()),
        ("workflow", of::<Workflow>()),
        ("await", of::<Await>()),
        ("run", of::<Run>()),
        ("config", closed(of::<Config>())),
        ("event", of::<Event>()),
        ("audit", of::<Entry>()),
        ("status", of::<Status>()),
        ("tree", of::<Node>()),
        ("summary", of::<Summary>()),
        ("cost", of::<Booking>()),
        ("breaker", of::<Breaker>()),
    ]
}

fn of<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

/// Forbids what is not named: an unknown key of the configuration is an error.
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

/// `NAME.schema.json` of a schema.
#[must_use]
pub fn file_name(name: &str) -> String {
    format!("{name}.schema.json")
}

/// The text of the file.
#[must_use]
pub fn text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// Writes all of them into a folder.
pub fn write(dir: &Path) -> Result<u8> {
    std::fs::create_dir_all(dir).io("create", dir)?;
    for (name, schema) in all() {
        let path = dir.join(file_name(name));
        std::fs::write(&path, text(&schema)).io("write", &path)?;
        crate::surface::program::print_value(&path.display().to_string())?;
    }
    Ok(0)
}
