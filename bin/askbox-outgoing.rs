//! `askbox-outgoing`: sends news to people, and the spans of rounds. The watcher starts this program.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

fn main() -> ExitCode {
    askbox_cli::program::main(askbox_outgoing::run)
}
