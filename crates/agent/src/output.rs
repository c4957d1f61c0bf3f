//! The output of one agent process, whatever it speaks.

use crate::adapter::AdapterOutput;
use crate::events::EventKind;
use crate::program::ProgramOutput;
use crate::stream::lines::Line;
use crate::stream::{Interpreter, StreamItem};

/// Reads the output of one agent process, line by line.
pub enum AgentOutput {
    /// Claude Code's stream-json.
    Claude(Box<Interpreter>),
    /// The items that an adapter tells of its agent.
    Adapter(AdapterOutput),
    /// The output of any program.
    Program(ProgramOutput),
}

impl AgentOutput {
    /// The items of this line, in order.
    pub fn feed(&mut self, line: &Line<'_>) -> Vec<StreamItem> {
        match self {
            Self::Claude(interpreter) => interpreter.feed(line),
            Self::Adapter(output) => output.feed(line),
            Self::Program(output) => output.feed(line),
        }
    }

    /// True if a blank line is part of the output.
    pub fn has_blank_lines(&self) -> bool {
        matches!(self, Self::Program(_))
    }

    /// The last event of a run that was stopped: its work so far. `how` names the cause of the stop.
    pub fn interrupted(&self, how: &str) -> EventKind {
        match self {
            Self::Claude(interpreter) => interpreter.interrupted(how),
            Self::Adapter(output) => output.interrupted(how),
            Self::Program(output) => output.interrupted(how),
        }
    }
}
