//! `askbox live`: the dialogs of opencode, Copilot and Qwen as questions.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    surfaces::main("live", |command, context| match command {
        Command::Live(args) => askbox_live::run(&args, context),
        _ => Err(surfaces::missing("live")),
    })
}
