//! The parts of the demo that the person sees: its story, the pauses between the steps, and the answer, on the inbox's own screen.

use std::io::BufRead;
use std::path::Path;

use askbox_agent::{Event, EventKind};
pub(super) use askbox_cli::program::print;
use askbox_cli::{PersonsDecision, program};
use askbox_inbox as inbox;
use askbox_inbox::Asked;
use askbox_mailbox::{IoContext, Mailbox, Result, WorkflowId, text};
use askbox_watch::relaunch::event_words::{self, Clock};

pub(super) fn heading(n: u32, words: &str) -> Result<()> {
    print(&format!("\n{n}. {words}\n\n"))
}

pub(super) fn command(line: &str) -> Result<()> {
    print(&format!("   $ {line}\n"))
}

/// Prints one event. The agent's commands and their output keep their lines.
pub(super) fn event(event: &Event) -> Result<()> {
    let (mark, text) = match &event.kind {
        EventKind::ToolCall { name, input, .. } if *name == "Bash" => ("$ ", input["command"].as_str().unwrap_or_default()),
        EventKind::ToolResult { text, .. } => ("", text.raw()),
        _ => return event_words::words(event, Clock::of_output()).lines().try_for_each(|line| print(&format!("   {line}\n"))),
    };
    for (n, line) in text.lines().enumerate() {
        let mark = if n == 0 { mark } else { &"  "[..mark.len()] };
        print(&format!("   agent     {mark}{line}\n"))?;
    }
    Ok(())
}

pub(super) fn file(path: &Path) -> Result<()> {
    command(&format!("cat {}", text::shell_quote(&path.display().to_string())))?;
    let content = std::fs::read_to_string(path).io("read", path)?;
    content.lines().try_for_each(|line| print(&format!("   {line}\n")))
}

pub(super) fn what_next() -> Result<()> {
    print(
        "\nThis is the end of the demo. Next, with your own agent:\n\n\
         \x20  $ askbox setup                      configuration, watcher, plugin and rules of Claude Code; shown first, and asked once\n\
         \x20  $ claude -p 'Do … . If you need a decision from me: checkpoint save, ask-post, end your turn.'\n\
         \x20  $ ask-answer                        answer pending questions\n\
         \x20  $ askbox doctor                     find problems\n",
    )
}

/// The person's reaction to the demo's question.
pub(super) enum Reaction {
    Answer(String),
    Decline,
    Leave,
    /// Left with Ctrl-C.
    Interrupt,
}

/// True if the person presses Enter without typing q before it.
pub(super) fn presses_enter(words: &str) -> Result<bool> {
    program::print(&format!("\n   {words}: "))?;
    let mut line = String::new();
    let length = std::io::stdin().lock().read_line(&mut line).io("read", "the terminal")?;
    // Ctrl-D ends the input instead of a line.
    if length == 0 {
        program::print("\n")?;
    }
    Ok(length > 0 && !matches!(line.trim(), "q" | "Q" | "quit" | "exit"))
}

/// Shows the question until the person decides or leaves.
pub(super) fn ask(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Reaction> {
    loop {
        match inbox::ask(mailbox, workflow)? {
            Asked::Decided(PersonsDecision::Answer(value, _)) => return Ok(Reaction::Answer(value.to_text())),
            Asked::Decided(PersonsDecision::Decline(_) | PersonsDecision::DeclineAlways(_) | PersonsDecision::DeclineAndStop(_)) => {
                return Ok(Reaction::Decline);
            }
            // The demo asks about no tool call, so nothing is changed before it is allowed.
            Asked::Decided(PersonsDecision::AskBack(_) | PersonsDecision::Edit(..)) => {
                program::say("note: the demo's agent is a script, and cannot reply to a question\n");
            }
            // The question keeps waiting, like any question that is left open.
            Asked::LeftOpen if presses_enter("The question waits. Enter shows it again, q and Enter end the demo")? => {}
            Asked::LeftOpen => return Ok(Reaction::Leave),
            Asked::Interrupted => return Ok(Reaction::Interrupt),
        }
    }
}
