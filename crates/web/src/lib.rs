//! `askbox web`: the page where people answer in a browser.
//!
//! It is a separate process that calls only the layers below. It stores only the signed-in devices. Whole pages are made here. The page's
//! one script only requests a page again when something has changed, so everything also works without it.
//!
//! | file | idea |
//! |---|---|
//! | `serve` | starts, listens, ends; the address of each page |
//! | `listen` | addresses, and limits on the number and duration of connections |
//! | `check` | the one check before all routing: host, session, origin, form |
//! | `site` | the data for all pages, and the device that requests a page |
//! | `gate` | the parts of the check: names, devices, sessions, secrets |
//! | `commands` | `link` with its code for a camera, `sessions`, `revoke`, and what the page says of itself |
//! | `other_machines` | the questions of other machines, and the answers offered to them |
//! | `sessions_elsewhere` | the sessions of other machines, as far as pages look at them |
//! | `index` | the waiting questions, read again only if their files have changed |
//! | `changes` | tells open pages about changes of the mailbox |
//! | `looked_at` | watches the sessions whose pages somebody has open |
//! | `onlooker` | treats a visible page as a person who sees new questions |
//! | `filled_part` | one part of a filled-in form, its value, and an answer in words |
//! | `form` | turns a filled-in form into an answer |
//! | `send` | sends a person's decision about the question that was shown |
//! | `taken_back` | answers that were given and taken back on this page, as filled-in forms |
//! | `fuzzed` | forms and cookies for `fuzz/` |
//! | `pages` | the pages |
//! | `reply` | the parts of replies, pages for errors, and the style, script and icons |
//!
//! `templates` holds the HTML of the pages, `static` the files of style, script and icons.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod changes;
mod check;
mod commands;
mod filled_part;
mod form;
#[doc(hidden)]
pub mod fuzzed;
pub mod gate;
mod index;
mod listen;
mod looked_at;
mod onlooker;
mod other_machines;
mod pages;
mod reply;
mod send;
mod serve;
mod sessions_elsewhere;
mod site;
mod taken_back;

use askbox_cli::Context;
use askbox_cli::args::askbox_args::{Web, WebCommand};
use askbox_mailbox::Result;

/// Runs `askbox web`; returns the exit status.
pub fn run(args: &Web, context: &Context) -> Result<u8> {
    if matches!(args.command, Some(WebCommand::About)) {
        return commands::print(context);
    }
    context.below().may_open_the_page()?;
    match &args.command {
        None => serve::run(args, context),
        Some(WebCommand::Link(link)) => {
            context.below().may_make_a_link()?;
            commands::link(link, context)
        }
        Some(WebCommand::Sessions) => commands::sessions(context, args.common.json),
        Some(WebCommand::Revoke(revoke)) => commands::revoke(revoke, context),
        Some(WebCommand::About) => Ok(0),
    }
}
