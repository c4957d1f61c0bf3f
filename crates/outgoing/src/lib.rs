//! `askbox-outgoing`: whatever leaves this machine, and whatever the watcher tells a program of the operator's. The watcher starts it, once
//! for each target of news that has no channel of its own, and once for traces.
//!
//! | file | idea |
//! |---|---|
//! | [`channel`] | the channel of a target: notices in, receipts and answers out |
//! | [`traces`] | the spans of rounds, for a collector of OpenTelemetry |
//! | `call` | one run of a program, within a time limit |
//! | `curl` | a request of HTTP, as a run of `curl` |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod call;
pub mod channel;
mod curl;
pub mod traces;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use askbox_cli::Context;
use askbox_mailbox::{Mailbox, Result};
use askbox_run::log;

/// Tells people what happens to questions, and a collector of OpenTelemetry what became of them
///
/// The watcher starts this program, and speaks lines of JSON with it: see docs/dev/channels.md.
#[derive(Debug, Parser)]
#[command(name = "askbox-outgoing", version)]
pub struct Args {
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub role: Role,
    /// Write the log as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum Role {
    /// Tell the people of one target; the first line of input names it
    Channel,
    /// Send the spans of rounds that end
    Traces {
        /// The mailbox of the rounds
        #[arg(long)]
        mailbox: PathBuf,
    },
}

/// Works until the watcher closes the input.
///
/// # Errors
/// If the mailbox or the configuration cannot be used, or the watcher says something else than expected.
pub fn run(args: Args, context: &Context) -> Result<u8> {
    log::to_stderr(args.json);
    match args.role {
        Role::Channel => channel::run(),
        Role::Traces { mailbox } => traces::exporter::run(Mailbox::open_or_create(mailbox)?.for_a_service(), context.config()?),
    }
}
