//! A checkpoint as shell assignments for `eval`.

use std::path::Path;

use serde_json::Value;

use crate::documents::checkpoint::CheckpointDocument;
use crate::text;

/// Returns a JSON value as plain text: a string without quotes, null as an empty text, anything else as JSON.
pub fn bare(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the assignments, one per line, each value as one quoted word. `path` is the checkpoint's file, and `prefix` precedes
/// every variable name. Variables for the agent's own keys have a prefix of their own (`FILE_BACKUP`, `STATE_ATTEMPT`), so that no
/// key can set `PATH`.
pub fn shell_assignments(document: &CheckpointDocument, path: &Path, prefix: &str) -> String {
    let checkpoint = &document.typed;
    let mut names = std::collections::HashSet::new();
    let mut out = String::new();
    let mut put = |name: String, value: String| {
        let mut unique = name.clone();
        for n in 2.. {
            if names.insert(unique.clone()) {
                break;
            }
            unique = format!("{name}_{n}");
        }
        // A shell variable cannot hold NUL.
        out.push_str(&format!("{prefix}{unique}={}\n", text::shell_quote(&value.replace('\0', ""))));
    };
    put("WORKFLOW_ID".into(), checkpoint.workflow_id.as_ref().map(ToString::to_string).unwrap_or_default());
    put("CHECKPOINT_FILE".into(), path.display().to_string());
    put("WORKFLOW_TYPE".into(), checkpoint.workflow_type.clone().unwrap_or_default());
    put("CURRENT_STEP".into(), checkpoint.current_step.clone().unwrap_or_default());
    put("COMPLETED_STEPS".into(), checkpoint.completed_steps.join("\n"));
    put("PENDING_STEPS".into(), checkpoint.pending_steps.join("\n"));
    put("CONTEXT".into(), checkpoint.context.clone().unwrap_or_default());
    put("NEXT_ACTION".into(), checkpoint.next_action.clone().unwrap_or_default());
    let answer = checkpoint.user_answer.as_ref();
    put("USER_ANSWER".into(), answer.map(bare).unwrap_or_default());
    // Each answer of a batch has its own variable, such as USER_ANSWER_Q1.
    for (key, value) in answer.and_then(Value::as_object).into_iter().flatten() {
        put(format!("USER_ANSWER_{}", variable(key)), bare(value));
    }
    for (key, value) in &checkpoint.files {
        put(format!("FILE_{}", variable(key)), bare(value));
    }
    for (key, value) in &checkpoint.state_variables {
        put(format!("STATE_{}", variable(key)), bare(value));
    }
    out
}

fn variable(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_values_stay_values_under_eval() {
        let folder = tempfile::tempdir().unwrap();
        let nasty = "it's $(touch pwned) `touch pwned` \\ \"q\"\n; touch pwned #";
        let json =
            serde_json::json!({"user_answer": nasty, "files": {"a b": "/x y", "a-b": "/z"}, "state_variables": {"PATH": "evil\u{0}"}});
        let document = CheckpointDocument::parse(json.to_string().as_bytes()).unwrap();
        let script = shell_assignments(&document, Path::new("/c.json"), "");
        let run = format!("{script}printf '%s' \"$USER_ANSWER|$FILE_A_B|$FILE_A_B_2|$STATE_PATH\"");
        let output = std::process::Command::new("/bin/sh").arg("-c").arg(run).current_dir(folder.path()).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{nasty}|/x y|/z|evil"));
        assert!(!folder.path().join("pwned").exists());
    }
}
