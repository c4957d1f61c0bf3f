//! `askbox inbox`, which `ask-answer` becomes at a terminal. It shows every waiting question on one screen that follows the mailbox.
//!
//! The screen shows a copy of the mailbox. A question may be answered, withdrawn or replaced while a person reads it. So an answer names
//! the round that was shown. If that round is over, the inbox says who answered first, and keeps the typed text. A key alone never decides:
//! keys choose, and enter sends. If enter asks first, `ok` and then enter confirm.
//!
//! | file | idea |
//! |---|---|
//! | `run` | opens the screen, follows keys and the mailbox, stores drafts at the end |
//! | `waking` | waits for keys, file events, signals, or a point in time |
//! | `keys` | handles keys |
//! | `mouse` | handles clicks and the wheel |
//! | `targets` | what a click chooses |
//! | `app` | the state of the screen |
//! | `list` | the waiting questions |
//! | `row` | one waiting question in that list |
//! | `search` | the questions that match a filter |
//! | `log_pane` | the log of a run |
//! | `sessions` | the sessions of agent programs, as a thread reads them |
//! | `prompting` | keys there: reads along, prompts and stops |
//! | `question` | the open question, and its answer before it is sent |
//! | `decide` | carries out the person's decisions about one question |
//! | `together` | declines several questions |
//! | `undo` | takes answers back |
//! | `gate` | the check that every key passes before it decides anything |
//! | `sender` | reads questions and sends answers, here or on another machine |
//! | `sent` | the answers that were sent, and their state |
//! | `keeping` | writes drafts to disk while the person types |
//! | `text_window` | the window for a text; a text that may be longer than its place |
//! | `draw` | draws the state |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod app;
mod decide;
mod draw;
mod gate;
mod keeping;
mod keys;
mod list;
mod log_pane;
mod mouse;
mod prompting;
mod question;
mod row;
mod run;
mod search;
mod sender;
mod sent;
mod sessions;
mod targets;
mod text_window;
mod together;
mod undo;
mod waking;

use askbox_cli::args::askbox_args::Inbox;
use askbox_cli::ask_answer::short_id;
use askbox_cli::{Context, answering, program};
use askbox_mailbox::{Address, Error, Result};

pub use question::kept_drafts::{forget, keep_in as keep_drafts_in};
pub use run::{Asked, ask};

/// `askbox inbox`: shows the inbox until the person leaves it. Returns the exit status.
pub fn open(args: &Inbox, context: &Context) -> Result<u8> {
    if args.common.json || !program::is_interactive() {
        return Err(Error::usage("the inbox is for a terminal", "for a program: ask-answer list --json"));
    }
    let mailbox = match &args.id {
        Some(Address { host: None, .. }) => args.common.open()?,
        _ => args.common.open_to_answer(context)?,
    };
    let mut opens = args.id.clone();
    if let Some(Address { host: None, workflow }) = &mut opens {
        *workflow = short_id::meant(&args.common, workflow)?;
        // An unknown id is an error before the screen changes.
        answering::question(&mailbox, workflow)?;
    }
    let person = context.caller(args.by.as_deref(), sender::CHANNEL)?;
    run::run(&mailbox, context, &person, opens.as_ref())
}
