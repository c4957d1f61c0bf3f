//! `ask-answer`: answers the questions that agents posted.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox_cli::args::ask_answer_args::AskAnswer;
use askbox_cli::{ask_answer, program};

fn main() -> ExitCode {
    program::main_with(std::env::args_os().collect(), AskAnswer::answer_alone, ask_answer::run)
}
