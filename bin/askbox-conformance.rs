//! `askbox conformance`: checks another implementation of the protocol.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    surfaces::main("conformance", |command, _| match command {
        Command::Conformance(args) => askbox_check::conformance::run(&args),
        _ => Err(surfaces::missing("conformance")),
    })
}
