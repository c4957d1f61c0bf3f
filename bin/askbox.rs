//! `askbox`: try it, set it up, look at it, find what is wrong, prune its history.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::ffi::OsString;
use std::process::ExitCode;

use askbox::commands::args::{Askbox, Command};
use askbox::commands::{
    complete, count, demo, doctor, fence, gc, history, hook, init, keygen, notify, once, sessions, setup, surfaces, tree, trial,
};
use askbox_cli::args::askbox_args::NotifyCommand;
use askbox_cli::{Context, program};
use askbox_mailbox::Result;
use askbox_peers::machines;

fn main() -> ExitCode {
    // The demo launches this program as its agent, with the arguments of `claude`.
    let args: Vec<OsString> = std::env::args_os().collect();
    if demo::agent::is_called(&args) {
        return demo::agent::run(&args).into();
    }
    surfaces::become_it(&args);
    program::main_of(args, run)
}

fn run(args: Askbox, context: &Context) -> Result<u8> {
    match args.command {
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Tree(args) => tree::run(&args, context),
        Command::History(args) => history::run(&args, context),
        Command::Inbox(args) => askbox_inbox::open(&args, context),
        Command::Gc(args) => gc::run(&args, context),
        Command::Setup(args) => setup::run(&args, context),
        Command::Init(args) => init::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Complete { words } => complete::run(&words),
        Command::AskAnswer { words } => machines::run(&words, context, askbox_inbox::open),
        Command::Count(args) => count::run(&args),
        Command::Trial(args) => trial::run(&args, context),
        Command::Sessions(args) => sessions::run(&args),
        Command::Fence(args) => fence::run(&args, context),
        Command::Once(args) => once::run(&args, context),
        Command::Notify(NotifyCommand::Test(args)) => notify::run(&args, context),
        Command::Hook(args) => hook::run(&args, context),
        Command::Agents(_) => Err(surfaces::missing("agents")),
        Command::Live(_) => Err(surfaces::missing("live")),
        Command::Mcp(_) => Err(surfaces::missing("mcp")),
        Command::Sync(_) => Err(surfaces::missing("sync")),
        Command::Web(_) => Err(surfaces::missing("web")),
        Command::Conformance(_) => Err(surfaces::missing("conformance")),
    }
}
