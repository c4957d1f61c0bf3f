//! `askbox web`: the page with which people answer from a browser.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    surfaces::main("web", |command, context| match command {
        Command::Web(args) => askbox_web::run(&args, context),
        _ => Err(surfaces::missing("web")),
    })
}
