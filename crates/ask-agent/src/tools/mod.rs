//! The tools. Their inputs are those of Claude Code.
//!
//! - `definitions`: what the model is told about them
//! - `bash`, `files`, `todo`: the tools that need nothing but the machine
//!
//! `Task` lies in `task`, and `AskUserQuestion` in `person`.

mod bash;
mod definitions;
mod files;
mod todo;

use serde_json::Value;

use crate::history::Call;
use crate::host::Host;
use crate::outcome::Outcome;
use crate::tool_names::{BASH, EDIT, GLOB, READ, TODO, WRITE};
use askbox_mailbox::error::Result;

pub(crate) use definitions::definitions;

/// Makes a call of one of the simple tools.
pub(crate) fn call(host: &mut Host, call: &Call) -> Result<Outcome> {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    let number = |key: &str| call.input.get(key).and_then(Value::as_u64);
    let cwd = host.cwd.clone();
    let done = match (call.name.as_str(), text("file_path")) {
        (BASH, _) => match text("command") {
            Some(command) => return bash::run(host, command, number("timeout")),
            None => Err("`command` is missing".into()),
        },
        (READ, Some(path)) => files::read(&cwd.join(path), number("offset"), number("limit")),
        (WRITE, Some(path)) => match text("content") {
            Some(content) => files::write(&cwd.join(path), content),
            None => Err("`content` is missing".into()),
        },
        (EDIT, Some(path)) => match (text("old_string"), text("new_string")) {
            (Some(old), Some(new)) => files::edit(&cwd.join(path), old, new, call.input.get("replace_all") == Some(&true.into())),
            _ => Err("`old_string` or `new_string` is missing".into()),
        },
        (READ | WRITE | EDIT, None) => Err("`file_path` is missing".into()),
        (GLOB, _) => match text("pattern") {
            Some(pattern) => files::glob(&cwd.join(text("path").unwrap_or(".")), pattern),
            None => Err("`pattern` is missing".into()),
        },
        (TODO, _) => todo::write(&call.input),
        (other, _) => Err(format!("No such tool available: {other}")),
    };
    Ok(done.map_or_else(Outcome::error, Outcome::ok))
}
