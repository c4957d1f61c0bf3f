//! How a program starts and ends: arguments in, exit status out.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap::error::ErrorKind;
use rustix::process::Signal;

use crate::args::parse;
use crate::program::behind_fence;
use crate::program::context::Context;
use crate::program::output::{ErrorReport, complain, print, print_json};
use crate::program::wrong_words;
use askbox_mailbox::{Error, Result, disk};

/// Runs a program: reads its arguments, calls `body` with them and with the [`Context`], and turns the result into an exit status.
///
/// `--help`, `help` and `--version` print and end with 0. An error prints its `error:` and `hint:` lines and ends with its own status.
pub fn main<A: Parser>(body: impl FnOnce(A, &Context) -> Result<u8>) -> ExitCode {
    main_of(std::env::args_os().collect(), body)
}

/// Like [`main`], with these arguments. The first one is the program.
pub fn main_of<A: Parser>(args: Vec<OsString>, body: impl FnOnce(A, &Context) -> Result<u8>) -> ExitCode {
    main_with(args, |_| None, body)
}

/// Like [`main_of`], for a program that has a shorter way to read its usual arguments. `usual` returns `None` for all other arguments, and
/// for wrong ones.
pub fn main_with<A: Parser>(
    args: Vec<OsString>,
    usual: impl FnOnce(&[OsString]) -> Option<A>,
    body: impl FnOnce(A, &Context) -> Result<u8>,
) -> ExitCode {
    // A write past `ulimit -f` fails like any other write, instead of ending the program without a message. This installs a handler instead
    // of ignoring the signal, because an agent would inherit an ignored signal.
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
    let asked = behind_fence::ask();
    let args = wrong_words::TYPED.get_or_init(|| args);
    let result = match (asked, wrong_words::help::<A>(args)) {
        (Some(status), _) => status,
        (None, Some(help)) => print(&help).map(|()| 0),
        (None, None) => match usual(args).map_or_else(|| parse(args), Ok) {
            Ok(args) => body(args, &Context::default()),
            Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => print(&e.render().to_string()).map(|()| 0),
            Err(e) => Err(wrong_words::usage::<A>(&e)),
        },
    };
    let status = result.map_err(disk::explain_missing).map_err(behind_fence::explain).unwrap_or_else(|e| {
        complain(&e);
        if wants_json(args) {
            // The error is told already, and standard output may be closed.
            let _ = print_json(&ErrorReport::of(&e, None));
        }
        e.exit_code()
    });
    ExitCode::from(status)
}

/// True if the arguments ask for JSON, so that an error is JSON too. Programs that follow another machine (`--watch`, `--offer`) read
/// objects of one kind only.
fn wants_json(args: &[OsString]) -> bool {
    // `askbox` gets the arguments of `ask-answer` behind a `--` of its own.
    let of_ask_answer = args.get(1).is_some_and(|part| part == "ask-answer") && args.get(2).is_some_and(|dashes| dashes == "--");
    let own = || args.iter().skip(if of_ask_answer { 3 } else { 1 }).take_while(|arg| *arg != "--");
    own().any(|arg| arg == "--json") && !own().any(|arg| arg == "--watch" || arg == "--offer" || arg == "--sessions")
}

/// Turns an error about a flag's value into a usage error that names the flag.
pub fn of_flag(flag: &str, error: Error) -> Error {
    match error {
        Error::Invalid { problem, fix, .. } => Error::usage(format!("{flag}: {problem}"), fix),
        other => other,
    }
}
