//! A tool call, and the hash that recognizes the same call.
//!
//! The calls that `askbox hook` has let through in an attempt. The agent program asks the supervisor about each of them once more,
//! because it was given the operator's rules as rules that ask. So a call that its hook said nothing about still reaches the supervisor,
//! and the supervisor sees that nobody let it through.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::attempt::record::Run;
use askbox_mailbox::documents::fields::approval::{CallHash, Editable};
use askbox_mailbox::documents::fields::live::EXIT_PLAN_MODE;
use askbox_mailbox::{Approval, Mailbox, Result, disk};

/// The tool whose input has a `description`: the agent's words about the call, which do not change what is run.
const BASH: &str = "Bash";
const DESCRIPTION: &str = "description";

/// The tools whose call has one text that is its substance, and the field of this text. A person may change it before they allow the call.
const EDITABLE: [(&str, &str); 4] = [(BASH, "command"), ("Write", "content"), ("Edit", "new_string"), (EXIT_PLAN_MODE, "plan")];

/// A tool call of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's input, whole.
    pub input: &'a Map<String, Value>,
    /// The working folder of the call.
    pub cwd: &'a Path,
}

impl Call<'_> {
    /// Returns what a person allows: the tool, the hash of tool, folder and input, and the text that they may change.
    pub fn approval(&self) -> Approval {
        Approval { tool: self.tool.into(), sha256: self.hash(), editable: self.editable() }
    }

    fn editable(&self) -> Option<Editable> {
        let (_, field) = EDITABLE.into_iter().find(|(tool, _)| *tool == self.tool)?;
        let text = self.input.get(field)?.as_str()?;
        Some(Editable { field: field.to_owned(), text: text.to_owned() })
    }

    /// Returns the input of the call with this text in place of the editable one. `None` if the call has none.
    pub fn edited(&self, text: &str) -> Option<Map<String, Value>> {
        let Editable { field, .. } = self.editable()?;
        let mut input = self.input.clone();
        input.insert(field, text.into());
        Some(input)
    }

    /// The SHA-256 of `{"cwd", "input", "tool"}` as JSON without white space, with the names of all objects sorted.
    pub fn hash(&self) -> CallHash {
        let cwd: &[u8] = self.cwd.as_os_str().as_encoded_bytes();
        let cwd = std::str::from_utf8(cwd).map_or_else(|_| json!(cwd), |text| json!(text));
        let canonical = json!({ "cwd": cwd, "input": self.parts(), "tool": self.tool }).to_string();
        CallHash::of_bytes(&Sha256::digest(canonical))
    }

    /// The input with its names sorted, and without the agent's words about it.
    pub fn parts(&self) -> Value {
        let mut input = Value::Object(self.input_without_words());
        input.sort_all_objects();
        input
    }

    /// The input without the agent's words about it.
    pub fn input_without_words(&self) -> Map<String, Value> {
        let mut input = self.input.clone();
        if self.words().is_some() {
            input.shift_remove(DESCRIPTION);
        }
        input
    }

    /// The agent's own words about the call.
    pub fn words(&self) -> Option<&str> {
        self.input.get(DESCRIPTION).filter(|_| self.tool == BASH).and_then(Value::as_str)
    }
}

/// How the names of the marks begin, in the attempt's folder.
pub const LET_THROUGH: &str = "let_through.";

/// Records that the hook lets this call through. The hook calls it before it answers.
pub fn note_let_through(mailbox: &Mailbox, run: &Run, id: &str, tool: &str, input: &Map<String, Value>) -> Result<()> {
    disk::touch(&let_through_mark(mailbox, run, id, tool, input))
}

/// Returns true, once, if the hook has let exactly this call through.
pub fn take_let_through(mailbox: &Mailbox, run: &Run, id: &str, tool: &str, input: &Map<String, Value>) -> Result<bool> {
    let mark = let_through_mark(mailbox, run, id, tool, input);
    let is_noted = disk::exists(&mark);
    if is_noted {
        disk::untouch(&mark)?;
    }
    Ok(is_noted)
}

/// The path of the call's mark. The call's folder is not part of it: the hook has compared the folder, and the supervisor does not know
/// the folder of a subagent.
fn let_through_mark(mailbox: &Mailbox, run: &Run, id: &str, tool: &str, input: &Map<String, Value>) -> PathBuf {
    let hash = Call { tool, input, cwd: Path::new("") }.approval().sha256;
    let name = Uuid::new_v5(&run.message_id, format!("{id}\n{hash}").as_bytes());
    run.folder(mailbox).join(format!("{LET_THROUGH}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(tool: &str, input: &str, cwd: &str) -> CallHash {
        Call { tool, input: &serde_json::from_str(input).unwrap(), cwd: Path::new(cwd) }.hash()
    }

    #[test]
    fn the_hash_is_that_of_the_canonical_json() {
        let expected = Sha256::digest(r#"{"cwd":"/w","input":{"command":"git push","timeout":5},"tool":"Bash"}"#);
        let expected = CallHash::of_bytes(&expected);
        assert_eq!(hash("Bash", r#"{"timeout":5, "command":"git push"}"#, "/w"), expected);
        assert_eq!(hash("Bash", r#"{"command":"git push","description":"Push it","timeout":5}"#, "/w"), expected);
    }

    #[test]
    fn any_other_tool_folder_or_input_is_another_call() {
        let one = hash("Bash", r#"{"command":"git push"}"#, "/w");
        let others = [
            hash("Bash", r#"{"command":"git push "}"#, "/w"),
            hash("Bash", r#"{"command":"git push","run_in_background":true}"#, "/w"),
            hash("Bash", r#"{"command":"git push"}"#, "/w/x"),
            hash("mcp__sh__Bash", r#"{"command":"git push"}"#, "/w"),
            hash("Bash", r#"{"command":"git push","description":7}"#, "/w"),
        ];
        assert!(others.iter().all(|other| *other != one));
        let write = |description: &str| hash("Write", &format!(r#"{{"file_path":"/a","description":"{description}"}}"#), "/w");
        assert_ne!(write("a"), write("b"), "only a description of Bash is nothing but words");
    }
}
