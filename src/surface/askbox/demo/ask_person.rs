//! Asks the person in front of the demo for the answer.

use inquire::{InquireError, Select, Text};

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::{Mailbox, read_question};

/// Asks the question; returns `None` if the person declines.
pub(super) fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<String>> {
    const OWN: &str = "your own words";
    const DECLINE: &str = "decline to answer";
    let question = read_question::pending(mailbox, workflow)?.typed;
    let mut rows: Vec<String> = question.options.0.iter().map(|c| format!("{}: {}", c.key, c.description)).collect();
    rows.extend([OWN.to_owned(), DECLINE.to_owned()]);
    let failed = |e: InquireError| match e {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            Error::failed("the demo got no answer", "start again with: askbox demo; or let it answer automatically: askbox demo --auto")
        }
        e => Error::failed(format!("cannot ask on this terminal: {e}"), "let the demo answer automatically: askbox demo --auto"),
    };
    let chosen = Select::new(&question.question, rows).raw_prompt().map_err(failed)?;
    match question.options.0.get(chosen.index) {
        Some(choice) => Ok(Some(choice.key.clone())),
        None if chosen.value == DECLINE => Ok(None),
        None => {
            let required = inquire::validator::ValueRequiredValidator::new("write something, or cancel with esc");
            Text::new("Your answer:").with_validator(required).prompt().map(Some).map_err(failed)
        }
    }
}
