//! The dialogs of Codex's sessions as questions of the mailbox.
//!
//! Each terminal with `codex` is a client of one daemon, and so is this bridge. The daemon sends each request for an approval or an answer
//! to every client of the session, and the first reply counts. A client that connects later gets the requests that still wait. So one
//! process beside the watcher serves all sessions, without a hook and without a process for each dialog. A closed terminal changes nothing.
//!
//! | file | idea |
//! |---|---|
//! | `sessions` | the sessions that the daemon has loaded, for people who look |
//! | `wire` | the messages of the daemon that matter here, and those that it is sent |
//! | `client` | one connection: WebSocket over the daemon's Unix socket |
//! | `request` | a request of the daemon, as the call that a person is shown |
//! | `threads` | what is known of the daemon's sessions |
//! | `question` | the question that a request becomes; a person's answer as the reply to the daemon |
//! | `news` `telling` `waking` | the news for a session, which gets one turn with them |
//! | `prompting` | the next prompts of people for these sessions, and their stops |
//! | `asker` | the daemon as a program that asks |
//! | `bridge` | all requests of one connection |
//! | `service` | connects, and connects again |
//!
//! A reply that the daemon does not understand *denies* the call and takes the dialog away (measured with Codex 0.169). So a request that
//! is not known is never replied to, not even with an error, and only the decisions `accept`, `decline` and `cancel` are sent.

mod asker;
mod bridge;
mod client;
#[doc(hidden)]
pub mod fuzzed;
mod news;
mod prompting;
mod question;
mod request;
mod service;
mod sessions;
mod telling;
mod threads;
mod waking;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use serde::Serialize;

use askbox_cli::args::value_parsers;
use askbox_cli::{Context, program};
use askbox_mailbox::{Mailbox, Result};
use askbox_run::log;
use askbox_sessions::codex::{self, About};

/// Serves the sessions of Codex's daemon until its standard input ends
///
/// The watcher starts this program.
#[derive(Debug, Parser)]
#[command(name = "askbox-live codex", version)]
pub struct Codex {
    /// The mailbox of the watcher
    #[arg(long)]
    pub mailbox: Option<PathBuf>,
    /// Only tell of the sessions, or why this one is told nothing, as JSON
    #[arg(long, value_name = "SESSION", num_args = 0..=1, require_equals = true)]
    pub about: Option<Option<String>>,
    /// How long the daemon may take to tell
    #[arg(long, value_name = "TIME", value_parser = value_parsers::duration, default_value = "1s")]
    pub within: Duration,
    /// Write the log as JSON
    #[arg(long)]
    pub json: bool,
}

/// Serves the sessions of Codex's daemon beside the watcher, or tells of them.
///
/// # Errors
/// If the mailbox or the configuration cannot be used.
pub fn run(args: Codex, context: &Context) -> Result<u8> {
    let Some(about) = &args.about else {
        log::to_stderr(args.json);
        let mailbox = Mailbox::locate(args.mailbox.as_deref()).and_then(Mailbox::open_or_create)?.for_a_service();
        return service::serve_until_told(&mailbox, &context.config()?).map(|()| 0);
    };
    match about.as_deref().filter(|session| !session.is_empty()) {
        Some(session) => print(telling::because(session)),
        None => print(codex::folder().map_or(Ok(None), |folder| sessions::in_time(&folder, args.within, sessions::ask))),
    }
}

fn print<T: Serialize>(found: Result<T>) -> Result<u8> {
    let about = found.map_or_else(|e| About::Problem(e.to_string(), e.hint().to_owned()), About::Found);
    program::print_json(&about).map(|()| 0)
}
