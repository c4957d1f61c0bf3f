//! Changes that an agent makes to the checkpoint of its own workflow: the next step, or one field.

use serde_json::Value;

use crate::checkpoints::store;
use crate::documents::dotted_path;
use crate::{Error, Mailbox, Result, WorkflowId, text};

/// Moves the current step to `completed_steps`, makes `next` the current step, and removes it from `pending_steps`.
///
/// # Errors
/// [`Error::NotFound`] if the workflow has no checkpoint. [`Error::Invalid`] if the result is not a valid checkpoint.
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn step(mailbox: &Mailbox, workflow: &WorkflowId, next: &str) -> Result<()> {
    store::update(mailbox, workflow, |document| {
        if let Some(done) = document.typed.current_step.take() {
            document.typed.completed_steps.push(done);
        }
        document.typed.current_step = Some(next.to_owned());
        document.typed.pending_steps.retain(|s| s != next);
        let none_left = document.typed.pending_steps.is_empty() && document.field("pending_steps").is_some();
        document.update()?;
        // `update` leaves an empty list out. Here the empty list is information: no step is left.
        if none_left { document.set_field("pending_steps", &Vec::<String>::new()) } else { Ok(()) }
    })
}

/// Sets the value at a dotted path such as `files.backup`. Creates missing objects on the way.
///
/// # Errors
/// - [`Error::Usage`] for `workflow_id`, `schema_version` and an empty path.
/// - [`Error::NotFound`] if the workflow has no checkpoint.
/// - [`Error::Invalid`] if the result is not a valid checkpoint.
/// - [`Error::Held`] if another process keeps the lock.
/// - [`Error::Io`] if the system refuses.
pub fn set(mailbox: &Mailbox, workflow: &WorkflowId, field: &str, value: Value) -> Result<()> {
    let first = field.split('.').next().unwrap_or_default();
    if ["", "workflow_id", "schema_version"].contains(&first) {
        let hint = "set another field, such as state_variables.NAME";
        return Err(Error::usage(format!("`{}` cannot be set", text::excerpt(field, 80)), hint));
    }
    store::update(mailbox, workflow, |document| dotted_path::set(document, field, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoints::store::{load, save};
    use crate::documents::{dotted_path, shell_export};

    fn mailbox() -> (tempfile::TempDir, Mailbox, WorkflowId) {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        (folder, mailbox, "w".parse().unwrap())
    }

    #[test]
    fn a_step_closes_the_current_one_and_keeps_unknown_fields() {
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
    fn a_change_of_another_field_makes_no_answer_by_hand_younger() {
        let (_folder, mailbox, id) = mailbox();
        let path = save(&mailbox, &id, br#"{"user_answer":"yes","current_step":"one"}"#).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let date = |time| std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();
        date(old);
        set(&mailbox, &id, "state_variables.tries", Value::from(3)).unwrap();
        step(&mailbox, &id, "two").unwrap();
        assert_eq!(modified(), old);
        set(&mailbox, &id, "user_answer", Value::from("no")).unwrap();
        assert!(modified() > old, "another answer is as old as it is");
    }

    #[test]
    fn a_value_is_set_and_read_by_its_dotted_path() {
        let (_folder, mailbox, id) = mailbox();
        save(&mailbox, &id, br#"{"files":{"backup":"/b"}}"#).unwrap();
        set(&mailbox, &id, "state_variables.tries.last", Value::from(3)).unwrap();
        let document = load(&mailbox, &id).unwrap();
        assert_eq!(dotted_path::get(&document, &id, "state_variables.tries.last").unwrap(), Value::from(3));
        assert_eq!(shell_export::bare(&dotted_path::get(&document, &id, "files.backup").unwrap()), "/b");
        assert_eq!(dotted_path::get(&document, &id, "files.none").unwrap_err().exit_code(), 3);
        assert!(set(&mailbox, &id, "files.x", Value::from("relative")).is_err());
        assert!(set(&mailbox, &id, "workflow_id", Value::from("other")).is_err());
    }
}
