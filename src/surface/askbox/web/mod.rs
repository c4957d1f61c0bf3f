//! `askbox web`: the page with which people answer from a browser.
//!
//! A process of its own that calls only the rooms below, and keeps nothing but who is signed in. Pages are made here, whole; the one
//! script of the page only asks for a page again when something changed. So everything works without it.
//!
//! | room | idea |
//! |---|---|
//! | `serve` | starts, listens, ends |
//! | `listen` | addresses, and how many connections there may be for how long |
//! | `check` | the one check before all routing: host, session, origin, form |
//! | `routes` | which address is which page |
//! | `site` | what all pages work with, and who asks for one |
//! | `gate` | what the check knows: names, devices, sessions, secrets |
//! | `commands` | `link`, `sessions`, `revoke` |
//! | `elsewhere` | the questions of other machines, and the answers offered to them |
//! | `index` | the questions that wait, read again only where their files changed |
//! | `changes` | what changed in the mailbox, told to the pages that are open |
//! | `onlooker` | a page that is visible is a person who sees new questions |
//! | `form` | what a person filled in, as an answer |
//! | `taken_back` | answers that this page gave and took back, as forms that are filled in again |
//! | `send` | sends what a person decided about the question that was shown |
//! | `fuzzed` | forms and cookies for `fuzz/`, with the feature `fuzzing` |
//! | `pages` | the pages |
//! | `reply` | what every reply is made of; what went wrong; style, script, icons |
//! | `templates`, `static` | their HTML; the style, the script, the icons |

mod changes;
mod check;
mod commands;
mod elsewhere;
mod form;
#[cfg(feature = "fuzzing")]
pub mod fuzzed;
pub(super) mod gate;
mod index;
mod listen;
mod onlooker;
mod pages;
mod reply;
mod routes;
mod send;
mod serve;
mod site;
mod taken_back;

use crate::error::Result;
use crate::surface::args::web_args::{Web, WebCommand};
use crate::surface::program::Context;

/// Runs `askbox web`; returns the exit status.
pub fn run(args: &Web, context: &Context) -> Result<u8> {
    context.below().may_open_the_page()?;
    match &args.command {
        None => serve::run(args, context),
        Some(WebCommand::Link(link)) => {
            context.below().may_make_a_link()?;
            commands::link(link, context)
        }
        Some(WebCommand::Sessions) => commands::sessions(context, args.common.json),
        Some(WebCommand::Revoke(revoke)) => commands::revoke(revoke, context),
    }
}
