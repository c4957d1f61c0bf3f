//! How a program starts and ends: arguments in, exit status out.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap::error::ErrorKind;
use rustix::process::Signal;

use crate::disk;
use crate::error::{Error, Result};
use crate::surface::program::context::Context;
use crate::surface::program::output::{complain, print};
use crate::surface::program::wrong_words;

/// Runs a program: reads its arguments, calls `body` with them and with what is found out once, and turns the result into an exit status.
///
/// `--help`, `help` and `--version` print and end with 0. An error prints its `error:` and `hint:` lines and ends with its own status.
pub fn main<A: Parser>(body: impl FnOnce(A, &Context) -> Result<u8>) -> ExitCode {
    fail_at_the_file_size_limit();
    let args: Vec<_> = std::env::args_os().collect();
    let result = match (wrong_words::help::<A>(&args), A::try_parse_from(&args)) {
        (Some(help), _) => print(&help).map(|()| 0),
        (None, Ok(args)) => body(args, &Context::default()),
        (None, Err(e)) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            print(&e.render().to_string()).map(|()| 0)
        }
        (None, Err(e)) => Err(wrong_words::usage::<A>(&e)),
    };
    let status = result.map_err(disk::explain_missing).unwrap_or_else(|e| {
        complain(&e);
        e.exit_code()
    });
    ExitCode::from(status)
}

/// A write past `ulimit -f` then fails like any other write, instead of ending the program without a word. This is a handler, because
/// an agent would inherit an ignored signal.
fn fail_at_the_file_size_limit() {
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default());
}

/// Turns the error of a flag's value into a usage error that names the flag.
#[must_use]
pub fn of_flag(flag: &str, error: Error) -> Error {
    match error {
        Error::Invalid { problem, fix, .. } => Error::usage(format!("{flag}: {problem}"), fix),
        other => other,
    }
}
