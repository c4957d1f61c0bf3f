//! `ask-answer`: answers the questions that agents posted.

#![deny(clippy::disallowed_methods)]

use std::process::ExitCode;

use askbox::surface::{ask_answer, program};

fn main() -> ExitCode {
    program::main(ask_answer::run)
}
