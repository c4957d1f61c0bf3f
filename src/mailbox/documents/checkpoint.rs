//! The checkpoint: the JSON state a fresh process resumes from. By default it lies in `checkpoints/WORKFLOW.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::disk;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::{Folder, Mailbox};
use crate::text;

/// The largest checkpoint, in bytes.
pub const MAX_CHECKPOINT: u64 = 16 << 20;

/// A checkpoint with all of its fields, known or not.
pub type CheckpointDocument = Document<Checkpoint>;

/// The fields of a checkpoint, version 1. All are optional: agents write what they need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// The version of the layout; 1 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// Whose state it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<WorkflowId>,
    /// What kind of work it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// The step in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_step: Option<String>,
    /// The steps done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed_steps: Vec<String>,
    /// The steps to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_steps: Vec<String>,
    /// Absolute paths by key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub files: Map<String, Value>,
    /// Anything the work needs to remember.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub state_variables: Map<String, Value>,
    /// Where the work stands, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What to do after the user responds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_action: Option<String>,
    /// The answer: text, a list, or an object for a batch. Null until there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_answer: Option<Value>,
    /// The round that `user_answer` belongs to, where askbox wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_answer_to: Option<QuestionId>,
}

/// Reads a checkpoint wherever it lies.
pub fn read(path: &Path) -> Result<CheckpointDocument> {
    Document::parse(&disk::read(path, MAX_CHECKPOINT)?).map_err(|e| e.in_file(path))
}

/// Reads a checkpoint that must be `workflow`'s, or name none.
pub fn read_for(path: &Path, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    of_workflow(path, &disk::read(path, MAX_CHECKPOINT)?, workflow)
}

fn of_workflow(path: &Path, bytes: &[u8], workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let document = CheckpointDocument::parse(bytes).map_err(|e| e.in_file(path))?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => {
            Err(Error::invalid("workflow_id", format!("is `{other}`, not `{workflow}`"), "name the checkpoint of this workflow")
                .in_file(path))
        }
        _ => Ok(document),
    }
}

/// Writes the answer into a checkpoint, durably; everything else in it stays as it is. The path came from a question, so the
/// file must say itself that it is this workflow's checkpoint: no other JSON file of the user's is ever written to.
/// Returns what was in it.
pub fn set_user_answer(path: &Path, workflow: &WorkflowId, round: QuestionId, value: &Value) -> Result<Vec<u8>> {
    let before = disk::read(path, MAX_CHECKPOINT)?;
    let mut document = of_workflow(path, &before, workflow)?;
    if document.typed.workflow_id.is_none() {
        return Err(Error::invalid(
            "workflow_id",
            "is missing",
            "only a checkpoint that names its workflow gets the answer written into it",
        )
        .in_file(path));
    }
    document.set_field("user_answer", value)?;
    document.set_field("user_answer_to", &round)?;
    disk::replace(path, &document.to_bytes())?;
    Ok(before)
}

/// A workflow's checkpoint in its default home.
#[must_use]
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.document(Folder::Checkpoints, workflow)
}

/// Reads a workflow's checkpoint from its default home.
///
/// # Errors
/// [`Error::NotFound`] where there is none.
pub fn load(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    read_for(&path(mailbox, workflow), workflow).map_err(|e| if e.is_missing_file() { missing(workflow) } else { e })
}

fn missing(workflow: &WorkflowId) -> Error {
    Error::not_found(
        format!("{workflow} has no checkpoint"),
        format!("save one: checkpoint save {workflow} < FILE, or see: checkpoint list"),
    )
}

/// Saves a complete checkpoint, durably, replacing the one before. Returns where it lies.
pub fn save(mailbox: &Mailbox, workflow: &WorkflowId, json: &[u8]) -> Result<PathBuf> {
    if json.len() as u64 > MAX_CHECKPOINT {
        return Err(Error::invalid(
            "file",
            format!("is {} bytes long, the limit is {MAX_CHECKPOINT}", json.len()),
            "keep bulk in files and name them under `files`",
        ));
    }
    let mut document = CheckpointDocument::parse(json)?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => {
            return Err(Error::invalid("workflow_id", format!("is `{other}`, not `{workflow}`"), "leave it out, or save under that id"));
        }
        _ => document.typed.workflow_id = Some(workflow.clone()),
    }
    check(&document.typed)?;
    document.typed.schema_version = Some(crate::document::SCHEMA_VERSION);
    document.update()?;
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    disk::replace(&path, &document.to_bytes())?;
    Ok(path)
}

/// Checks what the types alone do not say.
pub fn check(checkpoint: &Checkpoint) -> Result<()> {
    for (key, value) in &checkpoint.files {
        let field = format!("files.{}", text::excerpt(key, 60));
        match value {
            Value::String(path) if Path::new(path).is_absolute() => {}
            Value::String(_) => {
                return Err(Error::invalid(field, "is no absolute path", "write the path from / on: the next process may run elsewhere"));
            }
            _ => return Err(Error::invalid(field, "is no text", "write an absolute path")),
        }
    }
    Ok(())
}

/// Changes a checkpoint in its default home under the lock.
fn change(mailbox: &Mailbox, workflow: &WorkflowId, change: impl FnOnce(&mut CheckpointDocument) -> Result<()>) -> Result<()> {
    let _lock = mailbox.lock(workflow)?;
    let mut document = load(mailbox, workflow)?;
    change(&mut document)?;
    // What was changed must still be a checkpoint.
    let bytes = document.to_bytes();
    check(&CheckpointDocument::parse(&bytes)?.typed)?;
    disk::replace(&path(mailbox, workflow), &bytes)
}

/// Closes the current step and opens the next one.
pub fn step(mailbox: &Mailbox, workflow: &WorkflowId, next: &str) -> Result<()> {
    change(mailbox, workflow, |document| {
        if let Some(done) = document.typed.current_step.take() {
            document.typed.completed_steps.push(done);
        }
        document.typed.current_step = Some(next.to_owned());
        document.typed.pending_steps.retain(|s| s != next);
        let none_left = document.typed.pending_steps.is_empty() && document.field("pending_steps").is_some();
        document.update()?;
        // An empty list says more than a missing one.
        if none_left { document.set_field("pending_steps", &Vec::<String>::new()) } else { Ok(()) }
    })
}

/// The value at a dotted path such as `files.backup` or `completed_steps.0`.
///
/// # Errors
/// [`Error::NotFound`] where nothing is there.
pub fn get(document: &CheckpointDocument, field: &str) -> Result<Value> {
    let mut pieces = field.split('.');
    let absent =
        || Error::not_found(format!("the checkpoint has no field `{}`", text::excerpt(field, 80)), "see what it has: checkpoint show ID");
    let first = pieces.next().and_then(|f| document.field(f)).ok_or_else(absent)?;
    let mut value: Value = serde_json::from_str(first).map_err(|_| absent())?;
    for piece in pieces {
        value = match value {
            Value::Object(mut map) => map.remove(piece).ok_or_else(absent)?,
            Value::Array(mut items) => match piece.parse::<usize>() {
                Ok(n) if n < items.len() => items.swap_remove(n),
                _ => return Err(absent()),
            },
            _ => return Err(absent()),
        };
    }
    Ok(value)
}

/// Sets the value at a dotted path, making the objects on the way.
pub fn set(mailbox: &Mailbox, workflow: &WorkflowId, field: &str, value: Value) -> Result<()> {
    let (first, rest) = field.split_once('.').map_or((field, None), |(f, r)| (f, Some(r)));
    if first.is_empty() || first == "workflow_id" || first == "schema_version" {
        return Err(Error::usage(
            format!("`{}` cannot be set", text::excerpt(field, 80)),
            "set another field, such as state_variables.NAME",
        ));
    }
    change(mailbox, workflow, |document| {
        let Some(rest) = rest else { return document.set_field(first, &value) };
        let mut root = document.field(first).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Value::Null);
        let mut place = &mut root;
        for piece in rest.split('.') {
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            place = match place {
                Value::Object(map) => map.entry(piece).or_insert(Value::Null),
                Value::Array(items) => {
                    let index = piece.parse::<usize>().ok().filter(|n| *n < items.len());
                    index
                        .and_then(|n| items.get_mut(n))
                        .ok_or_else(|| Error::usage(format!("`{}` is no index of that list", text::excerpt(piece, 40)), "count from 0"))?
                }
                _ => {
                    return Err(Error::usage(
                        format!("`{}` lies below a plain value", text::excerpt(field, 80)),
                        "set the whole field instead",
                    ));
                }
            };
        }
        *place = value;
        document.set_field(first, &root)
    })
}

/// Removes a checkpoint.
pub fn remove(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    if path.symlink_metadata().is_err() {
        return Err(missing(workflow));
    }
    disk::remove(&path)
}

/// Text for a value: bare where it is text, nothing for null, else JSON.
#[must_use]
pub fn bare(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Shell assignments for `eval`, one a line, every value one quoted word. Keys of the agent's own get a prefix, so that none
/// can become `PATH`: `FILE_BACKUP`, `STATE_ATTEMPT`.
#[must_use]
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
    // A batch's answers one by one: USER_ANSWER_Q1.
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

    fn mailbox() -> (tempfile::TempDir, Mailbox, WorkflowId) {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        (folder, mailbox, "w".parse().unwrap())
    }

    #[test]
    fn a_step_closes_the_current_one_and_leaves_unknown_fields_alone() {
        let (_folder, mailbox, id) = mailbox();
        save(&mailbox, &id, br#"{"current_step":"draft","pending_steps":["review","ship"],"mine":{"x":1.50}}"#).unwrap();
        step(&mailbox, &id, "review").unwrap();
        step(&mailbox, &id, "ship").unwrap();
        let document = load(&mailbox, &id).unwrap();
        assert_eq!(document.typed.completed_steps, ["draft", "review"]);
        assert_eq!(document.typed.current_step.as_deref(), Some("ship"));
        assert!(document.typed.pending_steps.is_empty());
        assert_eq!(document.field("mine"), Some(r#"{"x":1.50}"#));
    }

    #[test]
    fn a_value_is_set_and_read_by_its_dotted_path() {
        let (_folder, mailbox, id) = mailbox();
        save(&mailbox, &id, br#"{"files":{"backup":"/b"}}"#).unwrap();
        set(&mailbox, &id, "state_variables.tries.last", Value::from(3)).unwrap();
        let document = load(&mailbox, &id).unwrap();
        assert_eq!(get(&document, "state_variables.tries.last").unwrap(), Value::from(3));
        assert_eq!(bare(&get(&document, "files.backup").unwrap()), "/b");
        assert_eq!(get(&document, "files.none").unwrap_err().exit_code(), 3);
        assert!(set(&mailbox, &id, "files.x", Value::from("relative")).is_err());
        assert!(set(&mailbox, &id, "workflow_id", Value::from("other")).is_err());
    }

    #[test]
    fn another_workflows_checkpoint_is_refused() {
        let (_folder, mailbox, id) = mailbox();
        assert!(save(&mailbox, &id, br#"{"workflow_id":"other"}"#).is_err());
        assert_eq!(load(&mailbox, &id).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn hostile_values_stay_values_under_eval() {
        let (_folder, mailbox, id) = mailbox();
        let nasty = "it's $(touch pwned) `touch pwned` \\ \"q\"\n; touch pwned #";
        let json =
            serde_json::json!({"user_answer": nasty, "files": {"a b": "/x y", "a-b": "/z"}, "state_variables": {"PATH": "evil\u{0}"}});
        save(&mailbox, &id, json.to_string().as_bytes()).unwrap();
        let script = shell_assignments(&load(&mailbox, &id).unwrap(), &path(&mailbox, &id), "");
        let run = format!("{script}printf '%s' \"$USER_ANSWER|$FILE_A_B|$FILE_A_B_2|$STATE_PATH\"");
        let output = std::process::Command::new("/bin/sh").arg("-c").arg(run).current_dir(_folder.path()).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{nasty}|/x y|/z|evil"));
        assert!(!_folder.path().join("pwned").exists());
    }
}
