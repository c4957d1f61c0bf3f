//! `checkpoint`: saves and reads the state that a fresh process resumes from.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::surface::{checkpoint, program};

fn main() -> ExitCode {
    program::main(|args, _| checkpoint::run(args))
}
