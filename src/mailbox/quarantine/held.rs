//! What a file that cannot be used holds, for its reason: a whole document that belongs elsewhere, or the remains of one.
//!
//! On ext2, and on ext4 without a journal, a power cut can leave a name on an inode that has another file's content by then. Such a file is
//! whole, but says that it is something else.

use std::path::Path;

use serde_json::{Map, Value};

use crate::disk;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::question::MAX_QUESTION;
use crate::text;

/// The fields by which a kind of document is known.
const KINDS: [(&str, &[&str]); 6] = [
    ("a question", &["question"]),
    ("a batch of questions", &["questions"]),
    ("the record of a run", &["attempt", "session_id"]),
    ("an await", &["parent", "child"]),
    ("a checkpoint", &["current_step"]),
    ("a checkpoint", &["state_variables"]),
];

/// What the file named `name` holds instead of its own question, in words. `None` if that cannot be told.
pub(in crate::mailbox) fn instead(path: &Path, name: &str) -> Option<String> {
    let bytes = disk::read(path, MAX_QUESTION).ok()?;
    if bytes.is_empty() {
        return Some("the file is empty".into());
    }
    if bytes.iter().all(|b| *b == 0) {
        return Some("the file holds only zeros, as after a power cut".into());
    }
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(&bytes) else {
        let begins = bytes.trim_ascii_start().starts_with(b"{") && !bytes.trim_ascii_end().ends_with(b"}");
        return begins.then(|| "the file is torn: it ends within its JSON object".into());
    };
    let (kind, _) = KINDS.iter().find(|(_, names)| names.iter().all(|name| fields.contains_key(*name)))?;
    let said = |field: &str| fields.get(field).and_then(Value::as_str).map(|value| text::excerpt(value, 140));
    let (workflow, question) = (said("workflow_id"), said("question_id"));
    let round = RoundId::from_file_name(name);
    let own = round.as_ref().map(|r| r.workflow.clone()).or_else(|| WorkflowId::from_file_name(name));
    let is_question = kind.ends_with("question") || kind.ends_with("questions");
    let other_workflow = workflow.as_deref().is_some_and(|said| own.is_some_and(|own| own.as_str() != said));
    let other_round = round.is_some_and(|own| question.as_deref().is_some_and(|said| own.question.to_string() != said));
    if is_question && !other_workflow && !other_round {
        return None;
    }
    let of = workflow.map_or_else(String::new, |workflow| format!(" of {workflow}"));
    let of_round = question.map_or_else(String::new, |question| format!(", question {question}"));
    Some(format!("the file is whole but holds another document: {kind}{of}{of_round}"))
}
