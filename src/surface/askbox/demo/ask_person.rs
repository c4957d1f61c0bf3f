//! Asks the person in front of the demo for the answer, as the inbox does.

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::surface::ask_answer::answering;
use crate::surface::ask_answer::inbox::{Reply, ask_all};
use crate::surface::program;

/// Asks the question; returns `None` if the person declines.
pub(super) fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<String>> {
    let question = answering::question(mailbox, workflow)?;
    loop {
        match ask_all(&question)? {
            Reply::Given(value) => return Ok(Some(value.to_text())),
            Reply::Decline => return Ok(None),
            Reply::AskBack => program::say("note: the demo's agent is a script, and cannot reply to a question\n"),
            Reply::Skip | Reply::Quit => {
                let hint = "start again with: askbox demo; or let it answer automatically: askbox demo --auto";
                return Err(Error::failed("the demo got no answer", hint));
            }
        }
    }
}
