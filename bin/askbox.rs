//! `askbox`: try it, set it up, look at it, find what is wrong, prune its history.

#![cfg_attr(static_build, no_main)]

use std::ffi::OsString;

use askbox::error::Result;
use askbox::surface::args::askbox::{Askbox, Command};
use askbox::surface::{agents, demo, doctor, gc, init, program, tree};

askbox::begin!(start);

fn start(args: Vec<OsString>) -> u8 {
    // The demo's agent is launched with another program's arguments.
    if demo::agent::is_called(&args) {
        return demo::agent::run(&args);
    }
    program::main(args, run)
}

fn run(args: Askbox) -> Result<u8> {
    match args.command {
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Tree(args) => tree::run(&args),
        Command::Gc(args) => gc::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Agents(args) => agents::run(&args),
        #[cfg(feature = "schema")]
        Command::Schema { dir } => askbox::surface::schema::write(&dir),
    }
}
