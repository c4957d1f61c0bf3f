//! `relaunch logs` and `relaunch events`: the events of a workflow's newest run, over all its attempts, as words or as JSON Lines.
//! Every event is printed once. Following ends with the run.

use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::{Mailbox, round};
use crate::run::attempt::record;
use crate::run::view::tail::{Next, RoundEvents};
use crate::surface::hangup::on_hangup;
use crate::surface::program;
use crate::surface::relaunch::event_words::{Clock, words};

/// How events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum As {
    /// In words.
    Words,
    /// As they lie in `events.jsonl`.
    Json,
    /// The same, and the text that is being generated.
    JsonWithPartialText,
}

/// Prints the events with a `seq` greater than `since`. With `follow`, goes on until the run ends.
pub fn print(mailbox: &Mailbox, workflow: &WorkflowId, follow: bool, since: u64, how: As) -> Result<u8> {
    let mut events = RoundEvents::of(mailbox, newest(mailbox, workflow)?, follow);
    if how == As::JsonWithPartialText {
        events = events.with_partial_text();
    }
    let json = how != As::Words;
    let clock = Clock::of_output();
    // A reader that goes away ends the program, even while there is nothing to write.
    let _poll_thread = follow.then(|| on_hangup(|| std::process::exit(0)));
    loop {
        // This is checked before the events are read, so the last look reads the last events.
        let goes_on = follow && events.goes_on()?;
        loop {
            match events.read()? {
                Next::Event(_, event) if event.seq <= since => {}
                Next::Event(line, _) if json => program::print_json_text(&line)?,
                Next::Event(_, event) => program::print(&words(&event, clock))?,
                Next::Attempt(n) if !json => program::print(&format!("-- attempt {n}\n"))?,
                Next::Attempt(_) => {}
                Next::Nothing => break,
            }
        }
        if !goes_on {
            return Ok(0);
        }
        events.wait();
    }
}

/// The workflow's newest round that has a run.
fn newest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<RoundId> {
    let mut rounds = round::of_workflow(mailbox, workflow);
    while let Some(found) = rounds.pop() {
        if record::latest(mailbox, &found.id)?.is_some() {
            return Ok(found.id);
        }
    }
    Err(Error::not_found(format!("{workflow} has no run"), format!("see where it stands: relaunch status {workflow}")))
}
