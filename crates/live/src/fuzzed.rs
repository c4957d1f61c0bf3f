//! The dialogs that a plugin tells, for `fuzz/`.

use crate::programs;
use crate::wire::{self, Incoming};
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_mailbox::{QuestionDocument, Result, Time};

/// The question that a line of the program's plugin becomes. `None` if the line asks nothing.
pub fn question(program: LiveProgram, line: &[u8], since: Time) -> Option<Result<QuestionDocument>> {
    let Incoming::Asked(asked) = wire::read(line) else { return None };
    Some(programs::read(program, *asked).and_then(|(_, request)| request.question(programs::facts(program), since)))
}
