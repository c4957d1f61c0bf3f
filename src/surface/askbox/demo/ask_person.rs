//! The person in front of the demo: the pauses between the steps, and the answer, on the inbox's own screen.

use std::io::BufRead;

use crate::error::{IoContext, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::surface::askbox::inbox;
use crate::surface::person::decision::Decision;
use crate::surface::program;

/// What the person does with the demo's question.
pub(super) enum Reply {
    Answer(String),
    Decline,
    Leave,
}

/// Waits until the person wants to go on; `false` if the person ends the demo.
pub(super) fn wants_to_go_on() -> Result<bool> {
    program::print("\n   Enter goes on, q and Enter end the demo: ")?;
    let mut line = String::new();
    let length = std::io::stdin().lock().read_line(&mut line).io("read", "the terminal")?;
    // Ctrl-D ends the input instead of a line.
    if length == 0 {
        program::print("\n")?;
    }
    Ok(length > 0 && !matches!(line.trim(), "q" | "Q" | "quit" | "exit"))
}

/// Asks the question.
pub(super) fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Reply> {
    loop {
        match inbox::ask(mailbox, workflow)? {
            Some(Decision::Answer(value, _)) => return Ok(Reply::Answer(value.to_text())),
            Some(Decision::Decline(_)) => return Ok(Reply::Decline),
            Some(Decision::AskBack(_)) => program::say("note: the demo's agent is a script, and cannot reply to a question\n"),
            None => return Ok(Reply::Leave),
        }
    }
}
