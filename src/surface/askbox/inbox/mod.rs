//! `askbox inbox`, which `ask-answer` becomes at a terminal: every question that waits, on one screen that follows the mailbox.
//!
//! The screen shows a copy of the mailbox. A question may be answered, withdrawn or replaced while a person reads it. So an answer
//! names the round that was shown; if that round is over, the inbox says who answered first, and keeps what was typed. No key alone
//! decides anything: keys choose, and enter sends.
//!
//! - `run`: opens the screen, follows keys and the mailbox
//! - `waking`: what wakes it: keys, file events, signals, a date
//! - `keys`: what keys do
//! - `app`: the state of the screen
//! - `list`: the questions that wait
//! - `question`: the one that is open, and the answer before it is sent
//! - `decide`: what a person decides: sending, declining several, taking back
//! - `gate`: what every key passes before it decides anything
//! - `sender`: where questions wait and answers go: this machine's mailbox, or another machine
//! - `sent`: what was answered, and what became of it
//! - `keeping`: drafts go to the disk while they are made
//! - `heard`: what other machines report
//! - `leave`: the end: drafts are kept, and what is undecided is told
//! - `line`: one line of text that is asked for
//! - `draw`: the state as a picture

mod app;
mod decide;
mod draw;
mod gate;
mod heard;
mod keeping;
mod keys;
mod leave;
mod line;
mod list;
mod question;
mod run;
mod sender;
mod sent;
mod waking;

use crate::address::Address;
use crate::error::{Error, Result};
use crate::surface::args::askbox_args::Inbox;
use crate::surface::ask_answer::answering;
use crate::surface::program::{self, Context};

pub(in crate::surface::askbox) use question::kept::forget;
pub(in crate::surface::askbox) use run::{Asked, ask};
pub(in crate::surface::askbox) use sender::shown::RoundAt;

/// `askbox inbox`: shows it until the person leaves it; returns the exit status.
pub fn open(args: &Inbox, context: &Context) -> Result<u8> {
    if args.common.json || !program::is_interactive() {
        return Err(Error::usage("the inbox is for a terminal", "for a program: ask-answer list --json"));
    }
    let mailbox = match &args.id {
        Some(Address { host: None, .. }) => args.common.open()?,
        _ => args.common.open_to_answer(context)?,
    };
    if let Some(Address { host: None, workflow }) = &args.id {
        // An unknown id is an error before the screen changes.
        answering::question(&mailbox, workflow)?;
    }
    let person = context.caller(args.by.as_deref(), sender::CHANNEL)?;
    run::run(&mailbox, context, &person, args.id.as_ref())
}
