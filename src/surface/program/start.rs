//! How a program starts and ends: arguments in, exit status out.

use std::error::Error as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use rustix::process::Signal;

use crate::disk;
use crate::error::{Error, Result};
use crate::surface::program::output::{complain, print};

/// Runs a program: reads its arguments, calls `body`, and turns the result into an exit status.
///
/// `--help` and `--version` print and end with 0. An error prints its `error:` and `hint:` lines and ends with its own status.
pub fn main<A: Parser>(body: impl FnOnce(A) -> Result<u8>) -> ExitCode {
    fail_at_the_file_size_limit();
    let result = match A::try_parse() {
        Ok(args) => body(args),
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => print(&e.render().to_string()).map(|()| 0),
        Err(e) => Err(usage(&e)),
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

/// Turns clap's error into one of ours: the message is clap's first paragraph, the hint its tip or the usage line.
fn usage(e: &clap::Error) -> Error {
    if let Some(own) = e.source().and_then(|source| source.downcast_ref::<Error>()) {
        return of_value(e, own);
    }
    if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Error::usage("no command is given", "see the commands: --help");
    }
    let text = e.render().to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let message = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let usage = match e.get(ContextKind::Usage) {
        Some(usage) => usage.to_string(),
        None => text.clone(),
    };
    let usage = usage.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    Error::usage(
        message,
        match (tip, usage) {
            (Some(tip), _) => format!("{tip}; more with --help"),
            (None, Some(usage)) => format!("usage: {usage}; more with --help"),
            (None, None) => "see --help".to_owned(),
        },
    )
}

/// The error of one of our value parsers. A wrong value of a flag is a matter of usage and names the flag; an id that is not
/// valid stays what it is.
fn of_value(e: &clap::Error, own: &Error) -> Error {
    match own {
        Error::Invalid { file, field, problem, fix } => {
            Error::Invalid { file: file.clone(), field: field.clone(), problem: problem.clone(), fix: fix.clone() }
        }
        other => {
            let argument = e.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
            let flag = argument.split(' ').next().unwrap_or_default();
            Error::usage(format!("{flag}: {other}"), other.hint())
        }
    }
}

/// Turns the error of a flag's value into a usage error that names the flag.
#[must_use]
pub fn of_flag(flag: &str, error: Error) -> Error {
    match error {
        Error::Invalid { problem, fix, .. } => Error::usage(format!("{flag}: {problem}"), fix),
        other => other,
    }
}
