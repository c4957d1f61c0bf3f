//! `ask-agent`: a small agent over the Messages API, whose transcript is its whole state.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox_cli::program;

fn main() -> ExitCode {
    program::main(|args, _| askbox_ask_agent::run(args))
}
