//! `askbox agents`: the agents that are defined in files, as claude reads them.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    surfaces::main("agents", |command, _| match command {
        Command::Agents(args) => askbox_definitions::command::run(&args),
        _ => Err(surfaces::missing("agents")),
    })
}
