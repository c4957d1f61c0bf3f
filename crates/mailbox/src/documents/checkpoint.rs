//! The checkpoint document, version 1. It holds the state of a workflow, so that a fresh process can resume it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Document, Error, QuestionId, Result, Stored, WorkflowId, text};

/// The largest checkpoint that an agent may save, in bytes, without its `user_answer`.
pub const MAX_CHECKPOINT: u64 = 16 << 20;

impl Stored for Checkpoint {
    /// [`MAX_CHECKPOINT`], and room for an answer of [`crate::documents::answer::MAX_ANSWER`] bytes with every character
    /// escaped.
    const LARGEST: u64 = 48 << 20;
}

/// Returns the bytes of a checkpoint's file. The part without `user_answer` must be no longer than [`MAX_CHECKPOINT`] or `before`,
/// its length before the change.
///
/// # Errors
/// [`Error::Invalid`] if it is too long, or could not be read again.
pub fn to_file(document: &CheckpointDocument, before: usize) -> Result<Vec<u8>> {
    let bytes = document.to_file()?;
    let own = own_length(document, &bytes);
    if own as u64 > MAX_CHECKPOINT && own > before {
        let problem = format!("makes a checkpoint of {own} bytes, the limit is {MAX_CHECKPOINT}");
        return Err(Error::invalid("file", problem, "keep bulk in files and name them under `files`"));
    }
    Ok(bytes)
}

/// Returns the length of a checkpoint's file without its `user_answer`, in bytes.
pub fn own_length(document: &CheckpointDocument, bytes: &[u8]) -> usize {
    bytes.len() - document.field("user_answer").map_or(0, str::len)
}

/// A checkpoint file with all of its fields, known and unknown.
pub type CheckpointDocument = Document<Checkpoint>;

/// The fields of a checkpoint. All are optional: agents write what they need.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Checkpoint {
    /// The version of the layout; 1 if missing.
    pub schema_version: Option<u32>,
    /// The workflow whose state this is.
    pub workflow_id: Option<WorkflowId>,
    /// The kind of work.
    pub workflow_type: Option<String>,
    /// The step in progress.
    pub current_step: Option<String>,
    /// The steps that are done.
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
    /// The state of the work, for people.
    pub context: Option<String>,
    /// What to do after the user responds.
    pub next_action: Option<String>,
    /// The answer: text, a list, or an object for a batch. Null until there is one.
    pub user_answer: Option<Value>,
    /// The round that `user_answer` belongs to. Set by askbox, missing if the answer was written by hand.
    pub user_answer_to: Option<QuestionId>,
}

/// Checks that `files` holds absolute paths.
///
/// # Errors
/// [`Error::Invalid`] with the field, such as `files.backup`.
pub fn check(checkpoint: &Checkpoint) -> Result<()> {
    for (key, value) in &checkpoint.files {
        let field = format!("files.{}", text::excerpt(key, 60));
        match value {
            Value::String(path) if Path::new(path).is_absolute() => {}
            Value::String(_) => {
                let fix = "write the path from / on: the next process may run elsewhere";
                return Err(Error::invalid(field, "is not an absolute path", fix));
            }
            _ => return Err(Error::invalid(field, "is not text", "write an absolute path")),
        }
    }
    Ok(())
}
