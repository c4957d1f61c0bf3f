//! `askbox sync`: the questions of this machine in a database.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    surfaces::main("sync", |command, context| match command {
        Command::Sync(args) => askbox_peers::sync_command::run(&args, context),
        _ => Err(surfaces::missing("sync")),
    })
}
