//! `askbox`: try it, set it up, look at it, find what is wrong, prune its history.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::ffi::OsString;
use std::process::ExitCode;

use askbox::error::Result;
use askbox::surface::args::askbox_args::{Askbox, Command, NotifyCommand};
use askbox::surface::askbox::teaching::agents;
use askbox::surface::askbox::views::{count, history_view, tree_view};
use askbox::surface::askbox::{complete, demo, doctor, gc, hook, inbox, init, keygen, machines, notify, setup};
use askbox::surface::program::{self, Context};

fn main() -> ExitCode {
    // The demo launches this program as its agent, with the arguments of `claude`.
    let args: Vec<OsString> = std::env::args_os().collect();
    if demo::agent::is_called(&args) {
        return demo::agent::run(&args).into();
    }
    program::main(run)
}

fn run(args: Askbox, context: &Context) -> Result<u8> {
    match args.command {
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Tree(args) => tree_view::run(&args, context),
        Command::History(args) => history_view::run(&args),
        Command::Inbox(args) => inbox::open(&args, context),
        Command::Gc(args) => gc::run(&args, context),
        Command::Setup(args) => setup::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Agents(args) => agents::run(&args),
        Command::Complete { words } => complete::run(&words),
        Command::AskAnswer { words } => machines::run(&words, context, inbox::open),
        Command::Count(args) => count::run(&args),
        Command::Notify(args) => match args.command {
            NotifyCommand::Test(args) => notify::run(&args, context),
        },
        Command::Hook(args) => hook::run(&args, context),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => askbox::surface::askbox::mcp::run(args, context),
        #[cfg(feature = "sync")]
        Command::Sync(args) => askbox::surface::askbox::sync::run(&args, context),
        #[cfg(feature = "web")]
        Command::Web(args) => askbox::surface::askbox::web::run(&args, context),
        #[cfg(feature = "schema")]
        Command::Schema { dir } => askbox::surface::askbox::schema::write(&dir),
    }
}
