//! `relaunch logs` and `relaunch events`: the events of a workflow's newest run, over all its attempts, as words or as JSON Lines.
//! Every event is printed once. Following begins with the run of an answer that waits for it, and ends with the run.

use std::time::Duration;

use crate::disk::file_events::FolderWatch;
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::who::presence;
use crate::mailbox::{Folder, Mailbox, round};
use crate::run::attempt::record;
use crate::run::view::tail::{Next, RoundEvents};
use crate::surface::hangup::on_hangup;
use crate::surface::program;
use crate::surface::relaunch::event_words::{Clock, words};
use crate::surface::relaunch::hold_queue;

/// The longest time between two looks for a run's record: no file event tells of it.
const LOOK_EVERY: Duration = Duration::from_millis(500);

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
    // A reader that goes away ends the program, even while there is nothing to write.
    let _poll_thread = follow.then(|| on_hangup(|| std::process::exit(0)));
    let round = if follow { to_follow(mailbox, workflow)? } else { newest(mailbox, workflow)? };
    let mut events = RoundEvents::of(mailbox, round, follow);
    if how == As::JsonWithPartialText {
        events = events.with_partial_text();
    }
    let json = how != As::Words;
    let clock = Clock::of_output();
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

/// The round to follow. Where an answer waits for its run, this waits until the run is on record.
fn to_follow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<RoundId> {
    let running = FolderWatch::new(&mailbox.folder(Folder::Running)).ok();
    let mut is_told = false;
    loop {
        let rounds = round::of_workflow(mailbox, workflow);
        let in_folder = |folder| rounds.iter().rfind(|found| found.folder == folder).map(|found| &found.id);
        match (in_folder(Folder::Running), in_folder(Folder::Answered)) {
            (Some(claimed), _) if record::latest(mailbox, claimed)?.is_some() => return Ok(claimed.clone()),
            (None, None) => return newest(mailbox, workflow),
            _ if !std::mem::replace(&mut is_told, true) => tell_who_launches(mailbox, workflow)?,
            _ => match &running {
                Some(running) => running.wait(LOOK_EVERY),
                None => std::thread::sleep(LOOK_EVERY),
            },
        }
    }
}

/// Warns if the run that is waited for will not be launched by itself.
fn tell_who_launches(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    hold_queue::warn(mailbox);
    if !presence::anybody(mailbox)? {
        program::warn(&format!(
            "{workflow} is answered, but no watcher is running to launch its agent: relaunch watch, or once: relaunch {workflow}"
        ));
    }
    Ok(())
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
