//! The tool calls in flight.

use std::collections::VecDeque;

use crate::run::supervise::ladder::Doing;
use crate::untrusted::Untrusted;

/// The most calls that are remembered, so that an agent that never tells of an end takes no memory. The oldest is forgotten first.
const REMEMBERED: usize = 256;

/// The tool calls in flight, by id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(VecDeque<Untrusted>);

impl OpenCalls {
    pub(super) fn begin(&mut self, id: &Untrusted) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(id.clone());
    }

    pub(super) fn end(&mut self, id: &Untrusted) {
        self.0.retain(|open| open != id);
    }

    pub(super) fn end_all(&mut self) {
        self.0.clear();
    }

    /// What the agent is doing.
    pub(super) fn doing(&self) -> Doing {
        if self.0.is_empty() { Doing::Writing } else { Doing::ToolCall }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_an_end_take_bounded_memory_and_the_newest_are_remembered() {
        let mut calls = OpenCalls::default();
        let id = |n: usize| Untrusted::from(format!("t{n}"));
        (0..10_000).for_each(|n| calls.begin(&id(n)));
        assert_eq!(calls.0.len(), REMEMBERED);
        (10_000 - REMEMBERED..10_000).for_each(|n| calls.end(&id(n)));
        assert_eq!(calls.doing(), Doing::Writing);
    }
}
