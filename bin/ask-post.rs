//! `ask-post`: posts a question to the mailbox and exits.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox_cli::{ask_post, program};

fn main() -> ExitCode {
    program::main(ask_post::run)
}
