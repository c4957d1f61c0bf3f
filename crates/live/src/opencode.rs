//! The requests of opencode. A request in a form that is not known here is left to its terminal.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::request::{self, Choice, RUNNING, ask_user_question, not_told, with_fields_beside};
use crate::wire::{Asked, Part, RequestId, problem};
use askbox_mailbox::documents::fields::tool_call::QUESTION;
use askbox_mailbox::programs::OPENCODE;
use askbox_mailbox::{Error, Result};
use askbox_run::{Request, Subject};

#[derive(Deserialize)]
struct Permission {
    id: RequestId,
    permission: String,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
    tool: Option<Value>,
}

#[derive(Deserialize)]
struct Questions {
    id: RequestId,
    questions: Vec<OneQuestion>,
}

#[derive(Deserialize)]
struct OneQuestion {
    question: String,
    header: String,
    #[serde(default)]
    options: Vec<Choice>,
    #[serde(default)]
    multiple: bool,
    /// True if the person may answer in their own words.
    #[serde(default = "yes")]
    custom: bool,
}

fn yes() -> bool {
    true
}

/// Reads what the plugin has told of a dialog.
///
/// # Errors
/// If it is not one that a person can answer here.
pub(super) fn read(asked: Asked) -> Result<(RequestId, Request)> {
    let Asked { event, request, session, root, part } = asked;
    let properties = Value::Object(request);
    let (id, subject, tool, input) = match event.as_str() {
        "permission.asked" => {
            let permission: Permission = serde_json::from_value(properties).map_err(|e| not_known(&problem(&e)))?;
            let (tool, input) = permission.call(part)?;
            (permission.id, Subject::Call, tool, input)
        }
        "question.asked" => {
            let Questions { id, questions } = serde_json::from_value(properties).map_err(|e| not_known(&problem(&e)))?;
            let questions: Vec<Value> = questions.into_iter().map(OneQuestion::into_ask_user_question).collect();
            let input = Map::from_iter([("questions".to_owned(), questions.into())]);
            (id, Subject::Questions, QUESTION.to_owned(), input)
        }
        other => return Err(not_known(other)),
    };
    request::of(&OPENCODE, id, subject, (tool, input), (&session, &root))
}

fn not_known(what: &str) -> Error {
    request::not_known(OPENCODE.name, what)
}

impl Permission {
    /// The tool, and all that opencode says of its call. A field that is not known is shown, too.
    fn call(&self, part: Option<Part>) -> Result<(String, Map<String, Value>)> {
        let mut said = self.metadata.clone();
        said.retain(|_, value| !value.is_null());
        if !self.patterns.is_empty() && self.patterns != ["*"] {
            said.insert("patterns".into(), json!(self.patterns));
        }
        match part.filter(|part| part.state.status == RUNNING) {
            // The difference has each line of the file that is added or removed, so the input would say it twice.
            Some(part) if self.permission == "edit" && said.get("diff").is_some_and(Value::is_string) => Ok((part.tool, said)),
            Some(part) => {
                if self.permission != part.tool {
                    said.insert("permission".into(), self.permission.as_str().into());
                }
                Ok((part.tool, with_fields_beside(OPENCODE.name, part.state.input, said)?))
            }
            None if self.tool.is_some() => Err(not_told(OPENCODE.name)),
            None => Ok((self.permission.clone(), said)),
        }
    }
}

impl OneQuestion {
    /// The question in the form of Claude Code's tool AskUserQuestion, which the mailbox reads.
    fn into_ask_user_question(self) -> Value {
        let has_options = !self.options.is_empty();
        let mut question = ask_user_question(&self.question, &self.header, self.multiple, &self.options);
        if has_options && !self.custom {
            question["free_text"] = false.into();
        }
        question
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::asked;

    fn permission(kind: &str, metadata: Value, part: Value) -> Result<Request> {
        let request = json!({
            "id": "per_1", "sessionID": "ses_1", "permission": kind, "patterns": ["touch a", "ls"], "metadata": metadata,
            "always": ["touch *"], "tool": {"messageID": "msg_1", "callID": "call_1"},
        });
        read(asked("permission.asked", request, part)).map(|(_, request)| request)
    }

    #[test]
    fn a_call_of_opencode_is_shown_with_its_input_and_all_beside_it() {
        let part = json!({"tool": "bash", "state": {"status": "running", "input": {"command": "touch a; ls", "workdir": "/x"}}});
        let request = permission("bash", json!({"command": "touch a; ls", "new": 7}), part.clone()).unwrap();
        let shown = json!({"command": "touch a; ls", "workdir": "/x", "opencode.new": 7, "opencode.patterns": ["touch a", "ls"]});
        assert_eq!((request.tool.as_str(), Value::Object(request.input)), ("bash", shown));
        let outside = permission("external_directory", json!({}), part).unwrap();
        assert_eq!(outside.input["opencode.permission"], "external_directory");
        let imitated = json!({"tool": "x", "state": {"status": "running", "input": {"opencode.patterns": "safe"}}});
        assert!(permission("x", json!({}), imitated).is_err());
    }

    #[test]
    fn an_edit_of_opencode_is_shown_as_its_difference() {
        let part = json!({"tool": "write", "state": {"status": "running", "input": {"filePath": "/a", "content": "one\n"}}});
        let request = permission("edit", json!({"filepath": "/a", "diff": "@@\n+one\n"}), part).unwrap();
        let shown = json!({"filepath": "/a", "diff": "@@\n+one\n", "patterns": ["touch a", "ls"]});
        assert_eq!((request.tool.as_str(), Value::Object(request.input)), ("write", shown));
    }

    #[test]
    fn a_request_of_opencode_that_is_not_known_is_left_alone() {
        assert!(permission("note_ask", json!({}), Value::Null).is_err(), "nobody has seen its input");
        let pending = json!({"tool": "note_ask", "state": {"status": "pending", "input": {}}});
        assert!(permission("note_ask", json!({}), pending).is_err());
        let request = json!({"id": "per_1", "permission": "doom_loop", "metadata": {"tool": "bash"}});
        assert!(read(asked("permission.asked", request.clone(), Value::Null)).is_ok(), "it is no call's");
        assert!(read(asked("permission.v2.asked", request, Value::Null)).is_err());
        assert!(read(asked("permission.asked", json!({"id": "per_1"}), Value::Null)).is_err());
        assert!(read(asked("question.asked", json!({"id": "que_1", "questions": [{"new": 1}]}), Value::Null)).is_err());
    }
}
