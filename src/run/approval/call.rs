//! A tool call, and the hash by which the same call is recognized.

use std::path::Path;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::mailbox::documents::fields::approval::{Approval, CallHash};

/// The tool whose input has a `description`: words of the agent about the call, which change nothing in what is run.
const BASH: &str = "Bash";
const DESCRIPTION: &str = "description";

/// A tool call of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The tool's input, whole.
    pub input: &'a Map<String, Value>,
    /// The folder in which the call is made.
    pub cwd: &'a Path,
}

impl Call<'_> {
    /// What a person allows: the tool, and the hash of tool, folder and input.
    #[must_use]
    pub fn approval(&self) -> Approval {
        Approval { tool: self.tool.into(), sha256: self.hash() }
    }

    /// The SHA-256 of `{"cwd", "input", "tool"}` as JSON without white space, with the names of all objects sorted.
    #[must_use]
    pub fn hash(&self) -> CallHash {
        let cwd: &[u8] = self.cwd.as_os_str().as_encoded_bytes();
        let cwd = std::str::from_utf8(cwd).map_or_else(|_| json!(cwd), |text| json!(text));
        let canonical = json!({ "cwd": cwd, "input": self.parts(), "tool": self.tool }).to_string();
        CallHash::of_bytes(&Sha256::digest(canonical))
    }

    /// The input with its names sorted, and without the agent's words about it.
    #[must_use]
    pub fn parts(&self) -> Value {
        let mut input = self.input.clone();
        if self.words().is_some() {
            input.shift_remove(DESCRIPTION);
        }
        let mut input = Value::Object(input);
        input.sort_all_objects();
        input
    }

    /// The agent's own words about the call.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        self.input.get(DESCRIPTION).filter(|_| self.tool == BASH).and_then(Value::as_str)
    }
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
