//! What the demo prints.

use std::path::Path;

use crate::agent::events::{Event, EventKind};
use crate::error::{IoContext, Result};
use crate::surface::program;
use crate::surface::relaunch::event_words::{self, Clock};
use crate::text;

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

pub(super) fn print(words: &str) -> Result<()> {
    program::print(words)
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
