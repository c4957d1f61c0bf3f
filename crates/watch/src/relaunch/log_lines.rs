//! The lines of `relaunch logs` and `relaunch events`: which events are printed, and in which form.

use std::collections::VecDeque;

use crate::relaunch::event_words::{Clock, words};
use askbox_agent::events::Event;
use askbox_cli::program;
use askbox_mailbox::{Result, Time};

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
    pub(super) fn takes(&self, event: &Event) -> bool {
        event.seq > self.seq && self.at.is_none_or(|at| event.at >= at)
    }
}

/// Prints lines: the last of those that are there, or all of them.
pub(super) struct Lines {
    last: Option<usize>,
    kept: VecDeque<String>,
    how: As,
    clock: Clock,
}

impl Lines {
    pub(super) fn new(from: FirstEvent, how: As) -> Self {
        Self { last: from.last, kept: VecDeque::new(), how, clock: Clock::of_output() }
    }

    /// Prints an event, or keeps it until it is known to be one of the last.
    pub(super) fn event(&mut self, line: String, event: &Event) -> Result<()> {
        if self.how != As::Words {
            return self.add(line);
        }
        // Some events are only for programs.
        let words = words(event, self.clock);
        if words.is_empty() { Ok(()) } else { self.add(words) }
    }

    /// Says that the events after this belong to another attempt.
    pub(super) fn attempt(&mut self, n: u32) -> Result<()> {
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
    pub(super) fn all_are_there(&mut self) -> Result<()> {
        self.last = None;
        std::mem::take(&mut self.kept).iter().try_for_each(|line| self.print(line))
    }
}
