//! `askbox once CALL`: marks a call in the round of the run that calls this, so that no later attempt makes it again.

use serde_json::json;

use askbox_cli::args::askbox_args::Once;
use askbox_cli::program;
use askbox_mailbox::error::{Error, Result};
use askbox_run::attempt::once;

/// Marks the call.
///
/// # Errors
/// [`Error::Conflict`] if it is marked: it may have been made. [`Error::Usage`] outside of a live run.
pub fn run(args: &Once) -> Result<u8> {
    let caller = program::this_run();
    if caller.is_none() {
        // Before the mailbox is opened: there may be none.
        let problem = "no run of askbox calls this, so there is no round to mark the call in";
        return Err(Error::usage(problem, "call it in a process that a run of askbox has started"));
    }
    match once::mark(&args.common.open()?, caller, &args.call)? {
        None if args.common.json => program::print_json(&json!({"call": args.call, "marked": true})).map(|()| 0),
        None => Ok(0),
        Some(run) => Err(Error::conflict(
            format!("the call was marked before, in attempt {} of {}: it may have been made", run.attempt, run.round),
            "do not make it again; look for its effect, or ask a person and exit with status 6",
        )),
    }
}
