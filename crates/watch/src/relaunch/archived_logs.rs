//! `relaunch logs` and `relaunch events` of a run whose round is archived.

use crate::relaunch::log_lines::{As, FirstEvent, Lines};
use askbox_agent::events::Event;
use askbox_cli::program;
use askbox_mailbox::{Result, text};
use askbox_run::view::archived::Archived;

/// Prints the events of an archived run. In words, says where they are, and names what a failed agent wrote to its standard error.
pub(super) fn print(run: &Archived, from: FirstEvent, how: As, mut lines: Lines) -> Result<u8> {
    if how == As::Words {
        program::say(&format!("note: this run is archived in {}\n", run.archive.display()));
    }
    for attempt in &run.attempts {
        if attempt.attempt > 1 {
            lines.attempt(attempt.attempt)?;
        }
        run.each_line(attempt.attempt, "events.jsonl", |line| match serde_json::from_str::<Event>(line) {
            Ok(event) if from.takes(&event) => lines.event(line.to_owned(), &event),
            _ => Ok(()),
        })?;
    }
    lines.all_are_there()?;
    if let Some(last) = run.attempts.last().filter(|last| how == As::Words && !last.is_delivered()) {
        for (name, whose) in [("stderr.log", "the agent"), ("supervisor.log", "the supervisor")] {
            let mut is_empty = true;
            let is_there = run.each_line(last.attempt, name, |_| {
                is_empty = false;
                Ok(())
            })?;
            if is_there && !is_empty {
                let command = format!("tar -xzOf {} {}", text::path_word(&run.archive), run.file(last.attempt, name));
                program::print(&format!("-- {whose} wrote to its standard error: {command}\n"))?;
            }
        }
    }
    Ok(0)
}
