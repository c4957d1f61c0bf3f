//! `askbox mcp`: the mailbox as tools of an agent, by the Model Context Protocol.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox::commands::args::Command;
use askbox::commands::surfaces;

fn main() -> ExitCode {
    surfaces::main("mcp", |command, context| match command {
        Command::Mcp(args) => askbox_mcp::run(args, context),
        _ => Err(surfaces::missing("mcp")),
    })
}
