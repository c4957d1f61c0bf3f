//! The name and the input of a tool call, as the rules of the configuration and the people who decide read them.
//!
//! Each agent names its tools differently, and ACP has a few kinds of them. A call of the kind `execute` with a command is `Bash`, as in
//! the rules of `[approvals]`. A call without any input is described by its title. The places and the changes that an agent tells beside the
//! input belong to the input here: a person is to see all of a call, and its hash covers all.

use std::path::Path;

use agent_client_protocol_schema::v1::{ToolCallContent, ToolCallLocation, ToolKind};
use serde_json::{Map, Value, json};

use askbox_agent::stream::bounded::{NAME, head};
use askbox_mailbox::{Untrusted, shell_quote};

/// The most places that are named of a call without input.
pub(super) const PLACES: usize = 32;

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

/// The input of a call: the agent's own, or else its title. Also the places that it does not name, and the changes of files.
pub(super) fn input(raw: Option<&Value>, title: &str, locations: &[ToolCallLocation], changes: &[Value]) -> Value {
    let mut input = match raw {
        Some(Value::Object(fields)) if !fields.is_empty() => with_one_command(fields),
        Some(other) if !other.is_null() && !other.is_object() => Map::from_iter([("input".to_owned(), other.clone())]),
        _ if title.is_empty() => Map::new(),
        _ => Map::from_iter([("title".to_owned(), head(title, 4096).into())]),
    };
    let mut places: Vec<String> = locations.iter().take(PLACES).map(|place| place.path.display().to_string()).collect();
    places.retain(|place| !input.values().any(|value| value == place));
    if !places.is_empty() {
        add(&mut input, "places", places.into());
    }
    if !changes.is_empty() {
        add(&mut input, "changes", changes.into());
    }
    Value::Object(input)
}

/// Adds a field. If the agent's input has one of that name, the name gets a stroke.
fn add(input: &mut Map<String, Value>, name: &str, value: Value) {
    let mut name = name.to_owned();
    while input.contains_key(&name) {
        name.push('_');
    }
    input.insert(name, value);
}

/// The input of a shell call that gemini asks about. gemini tells the command, and then `[current working directory FOLDER] (DESCRIPTION)`,
/// or more if the command runs elsewhere or in the background.
pub(super) fn command_with_place(command: &str, place: &str, cwd: &Path) -> Value {
    let rest = place.strip_prefix(&format!("[current working directory {}]", cwd.display()));
    match rest.map(|rest| (rest, rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')))) {
        Some(("", _)) => json!({ "command": command }),
        Some((_, Some(description))) => json!({ "command": command, "description": description }),
        _ => json!({ "command": command, "place": place }),
    }
}

/// The change of a file, if the content of a call is one.
pub(super) fn change(content: &ToolCallContent) -> Option<Value> {
    let ToolCallContent::Diff(diff) = content else { return None };
    Some(json!({ "path": diff.path.display().to_string(), "old": diff.old_text, "new": diff.new_text }))
}

/// True if a rule of the configuration looks at all that the call does. A rule about a command looks at the command alone, so nothing may
/// stand beside it that changes its meaning, such as further arguments, an environment, or another folder than the session's.
pub(super) fn is_plain(tool: &str, input: &Value, cwd: &Path) -> bool {
    let Some(fields) = input.as_object() else { return false };
    let is_here = |value: &Value| value.as_str().is_some_and(|folder| Path::new(folder) == cwd);
    fields.iter().all(|(name, value)| match (tool, name.as_str()) {
        ("Bash", "command") => value.is_string(),
        ("Bash", "description" | "timeout" | "timeout_ms") => true,
        // It is the same command, with or without waiting for its end.
        ("Bash", "is_background" | "run_in_background") => value.is_boolean(),
        ("Bash", "cwd" | "workdir") => is_here(value),
        // opencode tells the folder as a place, and copilot repeats the command.
        ("Bash", "places") => value.as_array().is_some_and(|places| places.iter().all(is_here)),
        ("Bash", "commands") => value.as_array().is_some_and(|all| all.len() == 1 && fields.get("command") == all.first()),
        ("Read", "path" | "file_path" | "filePath" | "abs_path" | "absolute_path") => value.is_string(),
        ("Read", "line" | "limit" | "offset") => true,
        ("Bash" | "Read", _) => false,
        _ => true,
    })
}

/// True if the agent has said what the call is to do.
pub(super) fn is_told(raw: Option<&Value>) -> bool {
    raw.is_some_and(|input| !input.is_null() && input.as_object().is_none_or(|fields| !fields.is_empty()))
}

/// The shells of the system. Only such a shell may stand before a command without being shown: another program of that name may do anything.
const SHELLS: [&str; 9] = ["bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/sh", "/usr/bin/zsh"];

/// A command that is a list, as a shell reads it. `["bash", "-lc", "COMMAND"]` is `COMMAND`. A program with its arguments in `args` is one
/// command.
fn with_one_command(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = fields.clone();
    let words = fields.get("command").and_then(Value::as_array).map(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    if let Some(Some([shell, "-c" | "-lc", command])) = words.as_ref().map(|words| words.as_deref())
        && SHELLS.contains(shell)
    {
        let command = (*command).into();
        fields.insert("command".into(), command);
    }
    let arguments = fields.get("args").and_then(Value::as_array).map(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    if let (Some(Some(arguments)), Some(program)) = (&arguments, fields.get("command").and_then(Value::as_str)) {
        let words: Vec<_> = std::iter::once(program).chain(arguments.iter().copied()).map(shell_quote).collect();
        let command = words.join(" ").into();
        fields.insert("command".into(), command);
        fields.remove("args");
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_call_is_bash_with_its_command() {
        let of = |raw: Value| {
            let input = input(Some(&raw), "run it", &[], &[]);
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

    #[test]
    fn only_a_shell_of_the_system_is_left_out() {
        for shell in ["/tmp/evil/bash", "../x/zsh", "./sh", "bin/sh", "fish"] {
            let given = input(Some(&json!({ "command": [shell, "-lc", "git status"] })), "", &[], &[]);
            assert!(given["command"].is_array(), "{shell}: {given}");
        }
    }

    #[test]
    fn arguments_belong_to_the_command() {
        let of = |raw: Value| input(Some(&raw), "", &[], &[]);
        assert_eq!(of(json!({ "command": "git", "args": ["push", "--force"] })), json!({ "command": "git push --force" }));
        assert_eq!(of(json!({ "command": "ask-post hi", "args": ["&&", "rm"] })), json!({ "command": "'ask-post hi' '&&' rm" }));
        let odd = json!({ "command": "git", "args": [1] });
        assert_eq!(of(odd.clone()), odd);
    }

    #[test]
    fn places_and_changes_beside_the_input_belong_to_it() {
        let places = [ToolCallLocation::new("/w/a"), ToolCallLocation::new("/etc/shadow")];
        let changes = [json!({ "path": "/w/a", "old": null, "new": "x" })];
        let given = input(Some(&json!({ "path": "/w/a" })), "", &places, &changes);
        assert_eq!(given, json!({ "path": "/w/a", "places": ["/etc/shadow"], "changes": [{ "path": "/w/a", "old": null, "new": "x" }] }));
        // A field of the agent's own is not replaced.
        let own = input(Some(&json!({ "changes": "own" })), "", &[], &changes);
        assert_eq!((&own["changes"], own["changes_"].is_array()), (&"own".into(), true));
    }

    #[test]
    fn a_call_is_plain_if_a_rule_sees_all_of_it() {
        let is = |tool: &str, input: Value| is_plain(tool, &input, Path::new("/w"));
        assert!(is("Bash", json!({ "command": "ls", "cwd": "/w", "description": "x", "timeout": 3 })));
        for more in [json!({ "is_background": true }), json!({ "places": ["/w"] }), json!({ "commands": ["ls"] })] {
            let mut input = json!({ "command": "ls" });
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert!(is("Bash", input), "{more}");
        }
        assert!(is("Read", json!({ "path": "a", "line": 1 })) && is("WebFetch", json!({ "url": "x", "any": 1 })));
        for more in [
            json!({ "cwd": "/evil" }),
            json!({ "env": {} }),
            json!({ "cmd": "rm" }),
            json!({ "args": [1] }),
            json!({ "stdin": "x" }),
            json!({ "places": ["/w", "/evil"] }),
            json!({ "commands": ["ls", "rm"] }),
            json!({ "commands": ["rm"] }),
            json!({ "place": "[in /w]" }),
        ] {
            let mut input = json!({ "command": "ls" });
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert!(!is("Bash", input), "{more}");
        }
        assert!(!is("Read", json!({ "command": "rm" })) && !is("Read", json!({ "path": "a", "places": ["/etc/shadow"] })));
    }
}
