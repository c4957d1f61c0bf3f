//! The name and the input of a tool call, as the rules of the configuration and the people who decide read them.
//!
//! Each agent names its tools differently, and ACP has a few kinds of them. A call of the kind `execute` with a command is `Bash`, as in
//! the rules of `[approvals]`. A call without any input is described by its title.

use agent_client_protocol_schema::v1::{ToolCallLocation, ToolKind};
use serde_json::{Map, Value, json};

use crate::stream::bounded::{NAME, head};
use askbox_mailbox::untrusted::Untrusted;

/// The most places that are named of a call without input.
const PLACES: usize = 32;

/// The name of a tool.
pub(super) fn name(kind: ToolKind, own_name: Option<&str>, title: &str, input: &Value) -> Untrusted {
    let word = match kind {
        ToolKind::Execute if input["command"].is_string() => "Bash",
        ToolKind::Execute => "execute",
        ToolKind::Read => "Read",
        ToolKind::Edit if own_name == Some("Write") => "Write",
        ToolKind::Edit => "Edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Fetch => "WebFetch",
        ToolKind::Think => "think",
        ToolKind::SwitchMode => "switch_mode",
        _ => own_name.filter(|own| !own.is_empty()).unwrap_or(title),
    };
    head(if word.is_empty() { "tool" } else { word }, NAME).into()
}

/// The input of a call: the agent's own, or else its title and places.
pub(super) fn input(raw: Option<&Value>, title: &str, locations: &[ToolCallLocation]) -> Value {
    match raw {
        Some(Value::Object(fields)) if !fields.is_empty() => Value::Object(with_one_command(fields)),
        Some(other) if !other.is_null() && !other.is_object() => json!({ "input": other }),
        _ => {
            let places: Vec<_> = locations.iter().take(PLACES).map(|place| place.path.display().to_string()).collect();
            let mut described = Map::new();
            if !title.is_empty() {
                described.insert("title".into(), head(title, 4096).into());
            }
            if !places.is_empty() {
                described.insert("places".into(), places.into());
            }
            Value::Object(described)
        }
    }
}

/// True if the agent has said what the call is to do.
pub(super) fn is_told(raw: Option<&Value>) -> bool {
    raw.is_some_and(|input| !input.is_null() && input.as_object().is_none_or(|fields| !fields.is_empty()))
}

/// A command that is a list, as a shell reads it. `["bash", "-lc", "COMMAND"]` is `COMMAND`.
fn with_one_command(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = fields.clone();
    let words = fields.get("command").and_then(Value::as_array).map(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    if let Some(Some([shell, "-c" | "-lc", command])) = words.as_ref().map(|words| words.as_deref())
        && matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh"))
    {
        let command = (*command).into();
        fields.insert("command".into(), command);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_call_is_bash_with_its_command() {
        let of = |raw: Value| {
            let input = input(Some(&raw), "run it", &[]);
            (name(ToolKind::Execute, None, "run it", &input).raw().to_owned(), input)
        };
        let (tool, given) = of(json!({ "command": ["/bin/bash", "-lc", "make all"], "cwd": "/w" }));
        assert_eq!((tool.as_str(), &given["command"], &given["cwd"]), ("Bash", &"make all".into(), &"/w".into()));
        assert_eq!(of(json!({ "command": "ls" })).0, "Bash");
        // A list that is not a shell's is not turned into words of a shell.
        let (tool, given) = of(json!({ "command": ["git", "-c", "push"] }));
        assert_eq!((tool.as_str(), given["command"].is_array()), ("execute", true));
        assert_eq!(of(json!({})).1, json!({ "title": "run it" }));
    }
}
