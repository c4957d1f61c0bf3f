//! The tools that need nothing but the machine. Claude Code's tools have the same inputs. `Task` lies in `task`, and `AskUserQuestion` in
//! `person`.
//!
//! | file | idea |
//! |---|---|
//! | `definitions` | what the model is told about the tools |
//! | `files` | `Read`, `Write`, `Edit`, `Glob` and `Grep` |

mod definitions;
mod files;

use std::time::Duration;

use serde_json::Value;

use crate::history::Call;
use crate::host::Host;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::process;
use crate::rules::permission;
use crate::tool_names::{BASH, EDIT, GLOB, GREP, READ, TODO, WRITE};
use askbox_mailbox::Result;

pub(crate) use definitions::definitions;

/// How long a command may take, in milliseconds. The call or `$BASH_DEFAULT_TIMEOUT_MS` may say another time.
const USUAL: u64 = 120_000;
const LONGEST: u64 = 600_000;
/// The most bytes of a command's output that the model reads.
const OUTPUT: usize = 30_000;

/// Makes a call. The place is the one that was decided about.
pub(crate) fn call(host: &mut Host, call: &Call, place: Option<&Place>) -> Result<Outcome> {
    if call.name == BASH
        && let Some(command) = call.text("command")
    {
        return bash(host, call, command);
    }
    Ok(of_files(host, call, place).map_or_else(Outcome::error, Outcome::ok))
}

fn of_files(host: &Host, call: &Call, place: Option<&Place>) -> Result<String, String> {
    let needed = |key: &str| call.text(key).ok_or(format!("`{key}` is missing"));
    let number = |key: &str| call.input.get(key).and_then(Value::as_u64);
    let place = || place.ok_or("`file_path` is missing");
    match call.name.as_str() {
        BASH => needed("command").map(str::to_owned),
        READ => files::read(place()?, number("offset"), number("limit")),
        WRITE => files::write(place()?, needed("content")?),
        EDIT => files::edit(place()?, needed("old_string")?, needed("new_string")?, call.input.get("replace_all") == Some(&true.into())),
        GLOB => {
            let pattern = needed("pattern")?;
            files::glob(place()?, pattern, |path| permission::is_hidden(host, path))
        }
        GREP => files::grep(place()?, needed("pattern")?, call, |path| permission::is_hidden(host, path)),
        TODO => todo(call.input.get("todos")),
        other => Err(format!("No such tool available: {other}")),
    }
}

/// Runs a shell command.
fn bash(host: &mut Host, call: &Call, command: &str) -> Result<Outcome> {
    let usual = || std::env::var("BASH_DEFAULT_TIMEOUT_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(USUAL);
    let limit = Duration::from_millis(call.input.get("timeout").and_then(Value::as_u64).unwrap_or_else(usual).clamp(1, LONGEST));
    let ran = process::shell(host, command, "", limit, &process::mark(host, call))?;
    let output = shorten(ran.stdout.trim_end(), OUTPUT);
    let cut = ran.cut.map(|why| format!("Command was ended: {why}\n")).unwrap_or_default();
    let is_ok = ran.status == 0 && cut.is_empty();
    Ok(if is_ok { Outcome::ok(output) } else { Outcome::error(format!("Exit code {}\n{cut}{output}", ran.status)) })
}

/// The middle of a long text is left out.
fn shorten(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.floor_char_boundary(text.len() - most / 2));
    format!("{}\n… [{} bytes are left out] …\n{}", &text[..head], tail - head, &text[tail..])
}

/// The list of what is to be done. The call itself keeps it: it stands in the transcript.
fn todo(todos: Option<&Value>) -> Result<String, String> {
    let todos = todos.and_then(Value::as_array).ok_or("`todos` is not a list")?;
    let states = todos.iter().map(|todo| todo["status"].as_str().filter(|_| todo["content"].is_string()));
    if !states.clone().all(|state| matches!(state, Some("pending" | "in_progress" | "completed"))) {
        return Err("each item needs `content`, and a `status`: pending, in_progress or completed".into());
    }
    Ok(format!("The list is kept: {} of {} are done.", states.filter(|state| *state == Some("completed")).count(), todos.len()))
}
