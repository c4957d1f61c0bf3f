//! A request, as the call that a person is shown.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::commands::live::wire::{RequestId, Session};
use askbox_cli::dialog_question::Subject;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::text;
use askbox_run::approval::call::Call;

/// The most characters that an error tells of a form that is not known.
const LONGEST_TOLD: usize = 100;

/// The state of a call whose input is there.
pub(super) const RUNNING: &str = "running";

/// A request that a person can answer, and its call, whole.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) subject: Subject,
    /// The tool's name.
    pub(super) tool: String,
    /// The call's input. For questions of the agent, it has the form of AskUserQuestion.
    pub(super) input: Map<String, Value>,
    /// The session that asks.
    pub(super) session: Session,
    /// The session that a person has begun.
    pub(super) root: Session,
}

impl Request {
    /// The call.
    pub(super) fn call<'a>(&'a self, cwd: &'a PathBuf) -> Call<'a> {
        Call { tool: &self.tool, input: &self.input, cwd }
    }

    /// True if this is a request about the same call.
    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        (&self.tool, &self.input, &self.session) == (&other.tool, &other.input, &other.session)
    }

    /// The folder of the session.
    pub(super) fn cwd(&self) -> PathBuf {
        PathBuf::from(&self.session.directory)
    }
}

/// The call's input, and the program's own fields of the request that say more.
///
/// # Errors
/// If the input has a field that imitates one of the program.
pub(super) fn with_fields_beside(program: &str, mut input: Map<String, Value>, said: Map<String, Value>) -> Result<Map<String, Value>> {
    // A field of the input may imitate one of the program, also one that the program does not tell.
    if input.keys().any(|name| name.strip_prefix(program).is_some_and(|rest| rest.starts_with('.'))) {
        return Err(not_told(program));
    }
    for (name, value) in said.into_iter().filter(|(name, value)| input.get(name) != Some(value)).collect::<Vec<_>>() {
        input.insert(format!("{program}.{name}"), value);
    }
    Ok(input)
}

pub(super) fn not_told(program: &str) -> Error {
    Error::failed(format!("{program} has not told what a call does"), "answer it at its terminal")
}

/// The error for a request in a form that is not known. The words of the program are cut.
pub(super) fn not_known(program: &str, what: &str) -> Error {
    let what = text::excerpt(what, LONGEST_TOLD);
    Error::failed(format!("{program} asks in a form that is not known: {what}"), "answer it at its terminal")
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::commands::live::wire::Asked;

    /// A dialog with these properties, as the plugin tells it.
    pub(in crate::commands::live) fn asked(event: &str, request: Value, part: Value) -> Asked {
        let session = json!({"id": "ses_1", "directory": "/work/My Shop", "title": "New session", "agent": "build"});
        serde_json::from_value(json!({"event": event, "request": request, "session": session, "root": session, "part": part})).unwrap()
    }
}
