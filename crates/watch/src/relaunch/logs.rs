//! `relaunch logs` and `relaunch events`: the events of a workflow's newest run, over all its attempts, as text or as JSON Lines. Every
//! event is printed once. If an answer waits for its run, following begins with that run. Following ends with the run.
//!
//! `relaunch logs` and `relaunch events` of a run whose round is archived.
//!
//! The lines of `relaunch logs` and `relaunch events`: which events are printed, and in which form.

use std::collections::VecDeque;
use std::time::Duration;

use crate::relaunch::event_words::{Clock, words};
use askbox_agent::Event;
use askbox_cli::hangup::on_hangup;
use askbox_cli::person::warn_of_queue;
use askbox_cli::{Context, program};
use askbox_mailbox::listing::recent_rounds::KEPT;
use askbox_mailbox::{Error, Folder, FolderWatch, IoContext, Mailbox, Result, RoundId, Time, WorkflowId, disk, recent_rounds, round, text};
use askbox_run::view::archived::Archived;
use askbox_run::view::tail::{Next, RoundEvents};
use askbox_run::{Cause, RunState, Teller, record};

/// The maximum time between two looks for a run's record. No file event reports a new record.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Prints the events of a workflow's newest run, which may be archived. With `follow`, goes on until the run ends. In words, names the file
/// with what a failed agent wrote to its standard error.
pub fn print(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, follow: bool, from: FirstEvent, how: As) -> Result<u8> {
    // The program ends when the reader goes away, even while there is nothing to write.
    let _poll_thread = follow.then(|| on_hangup(|| std::process::exit(0)));
    let mut lines = Lines::new(from, how);
    let found = if follow { to_follow(mailbox, context, workflow) } else { newest(mailbox, context, workflow) };
    let round = match found {
        // Nothing in the mailbox has a run: an archived one may be the newest.
        Err(e @ Error::NotFound { .. }) => {
            let has_run = |found: &Result<Archived>| found.as_ref().map_or(true, |found| !found.attempts.is_empty());
            let archived = Archived::newest(mailbox, workflow)?.find(has_run).transpose()?;
            return archived.map_or(Err(e), |run| print_archived(&run, from, how, lines));
        }
        other => other?,
    };
    let mut events = RoundEvents::new(mailbox, round.clone(), follow);
    if how == As::JsonWithPartialText {
        events = events.with_partial_text();
    }
    loop {
        // `goes_on` is checked before the events are read, so that the last look reads the last events.
        let goes_on = follow && events.goes_on()?;
        loop {
            match events.read()? {
                Next::Event(_, event) if !from.takes(&event) => {}
                Next::Event(line, event) => lines.event(line, &event)?,
                Next::Attempt(n) => lines.attempt(n)?,
                Next::Nothing => break,
            }
        }
        lines.all_are_there()?;
        if !goes_on {
            if how == As::Words {
                name_error_logs(mailbox, &round)?;
            }
            return Ok(0);
        }
        events.wait();
    }
}

/// What an attempt wrote to standard error: the file, and who wrote it.
const ERROR_LOGS: [(&str, &str); 2] = [("stderr.log", "the agent"), ("supervisor.log", "the supervisor")];

/// Names the files with what the agent and the supervisor of a failed run wrote to standard error: a crash says why there, and nowhere else.
fn name_error_logs(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let Some(run) = record::latest(mailbox, round)?.filter(|run| !run.is_delivered() && run.state != RunState::Running) else {
        return Ok(());
    };
    for (name, whose) in ERROR_LOGS {
        let path = run.folder(mailbox).join(name);
        if disk::metadata(&path).is_ok_and(|about| about.len() > 0) {
            program::print(&format!("-- {whose} wrote to its standard error: cat {}\n", text::path_word(&path)))?;
        }
    }
    Ok(())
}

/// The round to follow. If an answer waits for its run, this waits until the run is on record.
fn to_follow(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId) -> Result<RoundId> {
    let running = FolderWatch::new(&mailbox.folder(Folder::Running)).ok();
    let mut is_told = false;
    loop {
        let rounds = round::open_of_workflow(mailbox, workflow);
        let in_folder = |folder| rounds.iter().rfind(|found| found.folder == folder).map(|found| &found.id);
        match (in_folder(Folder::Running), in_folder(Folder::Answered)) {
            (Some(claimed), _) if record::latest(mailbox, claimed)?.is_some() => return Ok(claimed.clone()),
            (None, None) => return newest(mailbox, context, workflow),
            _ if !std::mem::replace(&mut is_told, true) => tell_who_launches(mailbox, context, workflow)?,
            _ => FolderWatch::wait_or_sleep(running.as_ref(), LOOK_EVERY),
        }
    }
}

/// Warns if nothing will launch the run that the command waits for.
fn tell_who_launches(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId) -> Result<()> {
    let teller = Teller::new(mailbox, context.loaded());
    warn_of_queue(&teller);
    if let Some(hold_up) = teller.general().iter().find(|hold_up| hold_up.cause == Cause::NoWatcher) {
        program::warn(&hold_up.sentence(workflow));
    }
    Ok(())
}

/// The workflow's newest round that has a run.
fn newest(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId) -> Result<RoundId> {
    let open = round::open_of_workflow(mailbox, workflow).into_iter().rev().map(|found| found.id);
    // The last rounds may have closed without a run. The list has one that had a run.
    let closed = [KEPT, usize::MAX].into_iter().flat_map(|wanted| recent_rounds::closed_last(mailbox, workflow, wanted)).map(|(id, _)| id);
    for id in open.chain(closed) {
        if record::latest(mailbox, &id)?.is_some() {
            return Ok(id);
        }
    }
    let story = Teller::new(mailbox, context.loaded()).at_a_glance(workflow);
    let why = story.why.map(|why| format!(", {}", text::excerpt(&why, 200))).unwrap_or_default();
    let next = story.next.unwrap_or_else(|| format!("relaunch status {workflow}"));
    Err(Error::not_found(format!("{workflow} has no run: it is {}{why}", story.state.word()), next))
}

/// After a stopped run, the program ends once the reader has taken nothing for this long.
pub(in crate::relaunch) const STUCK_READER_LIMIT: Duration = Duration::from_secs(5);

/// Prints one event. An error means that the reader is gone.
pub(in crate::relaunch) fn print_event(line: &str, event: &Event, json: bool, clock: Clock) -> Result<()> {
    let written = if json { program::write_json(line) } else { program::write(&words(event, clock)) };
    written.io("write to", "standard output")
}

/// Prints the events of an archived run. In words, says where they are, and names what a failed agent wrote to its standard error.
fn print_archived(run: &Archived, from: FirstEvent, how: As, mut lines: Lines) -> Result<u8> {
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
        for (name, whose) in ERROR_LOGS {
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

/// The format of printed events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum As {
    /// In words.
    Words,
    /// As they are stored in `events.jsonl`.
    Json,
    /// As they are stored, with the text that is being generated.
    JsonWithPartialText,
}

/// The first events to print.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstEvent {
    /// Only events with a greater `seq`.
    pub seq: u64,
    /// Only events since this time.
    pub at: Option<Time>,
    /// Only so many of the events that are there.
    pub last: Option<usize>,
}

impl FirstEvent {
    fn takes(&self, event: &Event) -> bool {
        event.seq > self.seq && self.at.is_none_or(|at| event.at >= at)
    }
}

/// Prints lines: the last of those that are there, or all of them.
struct Lines {
    last: Option<usize>,
    kept: VecDeque<String>,
    how: As,
    clock: Clock,
}

impl Lines {
    fn new(from: FirstEvent, how: As) -> Self {
        Self { last: from.last, kept: VecDeque::new(), how, clock: Clock::of_output() }
    }

    /// Prints an event, or keeps it until it is known to be one of the last.
    fn event(&mut self, line: String, event: &Event) -> Result<()> {
        if self.how != As::Words {
            return self.add(line);
        }
        // Some events are only for programs.
        let words = words(event, self.clock);
        if words.is_empty() { Ok(()) } else { self.add(words) }
    }

    /// Says that the events after this belong to another attempt.
    fn attempt(&mut self, n: u32) -> Result<()> {
        if self.how == As::Words { self.add(format!("-- attempt {n}\n")) } else { Ok(()) }
    }

    fn add(&mut self, line: String) -> Result<()> {
        let Some(last) = self.last else { return self.print(&line) };
        self.kept.push_back(line);
        if self.kept.len() > last {
            self.kept.pop_front();
        }
        Ok(())
    }

    fn print(&self, line: &str) -> Result<()> {
        if self.how == As::Words { program::print(line) } else { program::print_json_text(line) }
    }

    /// Prints what was kept. Everything after it is printed as it comes.
    fn all_are_there(&mut self) -> Result<()> {
        self.last = None;
        std::mem::take(&mut self.kept).iter().try_for_each(|line| self.print(line))
    }
}
