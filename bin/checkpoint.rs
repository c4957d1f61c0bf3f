//! `checkpoint`: saves the state of a workflow and reads it back, so that a fresh process can resume from it.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox_cli::{checkpoint, program};

fn main() -> ExitCode {
    program::main(|args, _| checkpoint::run(args))
}
