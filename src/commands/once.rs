//! `askbox once CALL`: marks a call in the round of the run that calls this, so that no later attempt makes it again. `askbox once --of ID --was
//! made`: a person says how calls ended that an attempt which failed has marked.

use serde_json::json;

use askbox_cli::args::askbox_args::{Once, Was};
use askbox_cli::program::{self, Context};
use askbox_mailbox::listing::{list, recent_rounds};
use askbox_mailbox::{Below, Error, Folder, Mailbox, Result, WorkflowId};
use askbox_run::attempt::once::{self, Word};

/// Marks the call, or says how marked calls ended.
///
/// # Errors
/// [`Error::Conflict`] if it is marked: it may have been made. [`Error::Usage`] outside of a live run.
pub fn run(args: &Once, context: &Context) -> Result<u8> {
    let caller = program::this_run();
    if let (Some(workflow), Some(was)) = (&args.of, args.was) {
        return close(args, context, &args.common.open()?, &workflow.parse()?, was);
    }
    let call = args.call.as_deref().unwrap_or_default();
    if caller.is_none() {
        // Before the mailbox is opened: there may be none.
        let problem = "no run of askbox calls this, so there is no round to mark the call in";
        return Err(Error::usage(problem, "call it in a process that a run of askbox has started"));
    }
    match once::mark(&args.common.open()?, caller, call)? {
        None if args.common.json => program::print_json(&json!({"call": call, "marked": true})).map(|()| 0),
        None => Ok(0),
        Some(run) => Err(Error::conflict(
            format!("the call was marked before, in attempt {} of {}: it may have been made", run.attempt, run.round),
            "do not make it again; look for its effect, or ask a person and exit with status 6",
        )),
    }
}

/// Closes the open marks in all rounds of the workflow.
fn close(args: &Once, context: &Context, mailbox: &Mailbox, workflow: &WorkflowId, was: Was) -> Result<u8> {
    if matches!(context.below(), Below::Agent | Below::Run) {
        return Err(Error::conflict("only a person says how a call ended", "ask a person: end with status 6, or with a question"));
    }
    let by = program::user();
    let of_it = |folder| list::round_names(mailbox, folder).filter(|round| round.workflow == *workflow);
    let closed = recent_rounds::closed_last(mailbox, workflow, usize::MAX).into_iter().map(|(round, _)| round);
    let word = if was == Was::Made { Word::Made } else { Word::NotMade };
    let mut calls = Vec::new();
    for round in of_it(Folder::Running).chain(of_it(Folder::Parked)).chain(closed) {
        calls.extend(once::close(mailbox, &round, args.call.as_deref(), word, &by)?);
    }
    if calls.is_empty() {
        return Err(Error::not_found(format!("no call of {workflow} is open"), format!("see: relaunch status {workflow}")));
    }
    let said = if was == Was::Made { "was made" } else { "was not made, and may be made" };
    if args.common.json {
        return program::print_json(&json!({"workflow_id": workflow, "calls": calls, "made": was == Was::Made})).map(|()| 0);
    }
    calls
        .iter()
        .try_for_each(|call| program::print(&format!("{workflow}: `{}` {said}\n", askbox_mailbox::text::excerpt(call, 80))))
        .map(|()| 0)
}
