//! Checkpoints: the document, access by dotted paths, and shell assignments.

use std::path::Path;

use askbox::cli::checkpoint;
use askbox::id::WorkflowId;
use askbox::mailbox::documents::checkpoint::{self as documents, Checkpoint, CheckpointDocument};
use askbox::mailbox::documents::{dotted_path, shell_export};
use askbox::text;
use serde_json::Value;

use super::{promises, small};

/// A checkpoint. The text after the first line feed behind its last `}` is a dotted path, `=`, and a value.
pub fn checkpoint(bytes: &[u8]) {
    let end = bytes.iter().rposition(|b| *b == b'}').map_or(bytes.len(), |at| at + 1);
    let (json, rest) = bytes.split_at(end);
    let Some(document) = promises::document::<Checkpoint>(json, Checkpoint::eq) else { return };
    if let Err(e) = documents::check(&document.typed) {
        promises::is_a_usable_error(&e);
    }
    promises::is_shown_safely(&text::printable(&checkpoint::checkpoint(&document, Path::new("/c.json"))));
    assignments(&document);
    let rest = String::from_utf8_lossy(rest);
    let (path, value) = rest.trim_start_matches('\n').split_once('=').unwrap_or(("context", "x"));
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    set(document, path, value);
}

fn set(document: CheckpointDocument, path: &str, value: Value) {
    let workflow: WorkflowId = "w".parse().expect("an id");
    if let Err(e) = dotted_path::get(&document, &workflow, path) {
        promises::is_a_usable_error(&e);
    }
    let (before, mut document) = (document.to_bytes(), document);
    match dotted_path::set(&mut document, path, value.clone()) {
        Ok(()) => {
            assert_eq!(dotted_path::get(&document, &workflow, path).ok(), Some(value), "what was set at {path:?}");
            let first = path.split('.').next().unwrap_or_default();
            promises::others_survive(&before, &document.to_bytes(), &[first]);
        }
        Err(e) => promises::is_a_usable_error(&e),
    }
}

/// Every line of the assignments sets one variable, with a name that askbox chose, to one word.
fn assignments(document: &CheckpointDocument) {
    let script = shell_export::shell_assignments(document, Path::new("/c.json"), "CP_");
    let mut rest = script.as_str();
    let mut names = std::collections::HashSet::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=').expect("an assignment");
        let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        assert!(name.starts_with("CP_") && name.chars().all(plain), "the variable {name:?}");
        assert!(names.insert(name), "{name} is set twice");
        let (word, behind) = small::shell_word(value);
        assert!(!word.contains('\0'));
        rest = behind.strip_prefix('\n').unwrap_or_else(|| panic!("behind the word of {name}: {behind:?}"));
    }
}
