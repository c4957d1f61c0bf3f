//! `ask-answer`: answers the questions that agents posted.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::surface::{ask_answer, program};

fn main() -> ExitCode {
    program::main(ask_answer::run)
}
