//! `askbox inbox`, which `ask-answer` becomes at a terminal: every question that waits, on one screen that follows the mailbox.
//!
//! The screen shows a copy of the mailbox. A question may be answered, withdrawn or replaced while a person reads it. So an answer
//! names the round that was shown; if that round is over, the inbox says who answered first, and keeps what was typed. No key alone
//! decides anything: keys choose, and enter sends.
//!
//! - `run`: opens the screen, follows keys and the mailbox
//! - `waking`: what wakes it: keys, file events, signals, a date
//! - `app`: the state of the screen, and what keys do to it
//! - `waiting`, `rows`: the list of questions; only what has changed is read again
//! - `opened`: the question that is open, and what each key does to it
//! - `draft`: an answer before it is sent
//! - `decide`: what a person decides: sending, declining several, taking back
//! - `send`: the transitions of the mailbox behind that
//! - `outcomes`: what became of answered questions
//! - `line`: one line of text that is asked for
//! - `draw`: the state as a picture

mod app;
mod decide;
mod draft;
mod draw;
mod line;
mod opened;
mod outcomes;
mod rows;
mod run;
mod send;
mod waiting;
mod waking;

use crate::error::{Error, Result};
use crate::surface::args::askbox_args::Inbox;
use crate::surface::ask_answer::answering;
use crate::surface::program;

pub use run::ask;
pub use send::Decision;

/// `askbox inbox`: shows it until the person leaves it; returns the exit status.
pub fn open(args: &Inbox) -> Result<u8> {
    if args.common.json || !program::is_interactive() {
        return Err(Error::usage("the inbox is for a terminal", "for a program: ask-answer list --json"));
    }
    let mailbox = args.common.open()?;
    if let Some(workflow) = &args.id {
        // An unknown id is an error before the screen changes.
        answering::question(&mailbox, workflow)?;
    }
    // Words that are close to an option are asked back before they are sent.
    let person = program::person(args.by.as_deref(), send::CHANNEL)?.in_own_words();
    run::run(&mailbox, &person, args.id.as_ref())
}
