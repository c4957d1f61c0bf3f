//! The person in front of the demo: the pauses between the steps, and the answer, on the inbox's own screen.

use std::io::BufRead;

use crate::error::{IoContext, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::surface::askbox::inbox::{self, Asked};
use crate::surface::person::decision::Decision;
use crate::surface::program;

/// What the person does with the demo's question.
pub(super) enum Reply {
    Answer(String),
    Decline,
    Leave,
    /// With Ctrl-C.
    Interrupt,
}

/// Waits until the person wants to go on; `false` if the person ends the demo.
pub(super) fn wants_to_go_on() -> Result<bool> {
    presses_enter("Enter goes on, q and Enter end the demo")
}

/// Whether the person presses Enter, and not q before it.
fn presses_enter(words: &str) -> Result<bool> {
    program::print(&format!("\n   {words}: "))?;
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
            Asked::Decided(Decision::Answer(value, _)) => return Ok(Reply::Answer(value.to_text())),
            Asked::Decided(Decision::Decline(_)) => return Ok(Reply::Decline),
            Asked::Decided(Decision::AskBack(_)) => {
                program::say("note: the demo's agent is a script, and cannot reply to a question\n");
            }
            // It waits as long as it must, as any question.
            Asked::LeftOpen if presses_enter("The question waits. Enter shows it again, q and Enter end the demo")? => {}
            Asked::LeftOpen => return Ok(Reply::Leave),
            Asked::Interrupted => return Ok(Reply::Interrupt),
        }
    }
}
