//! The errors when no answer or run of a workflow can be claimed now, or when the workflow does not exist.

use askbox_cli::Context;
use askbox_mailbox::{Error, Mailbox, WorkflowId};
use askbox_run::chain::forest;
use askbox_run::claim::Refusal;
use askbox_run::{Standing, Teller, story};

/// True if the workflow's last round is closed, so that a new one can follow.
fn is_over(state: Standing) -> bool {
    matches!(state, Standing::Delivered | Standing::Withdrawn | Standing::Expired | Standing::Superseded | Standing::Dropped)
}

/// The refusal as an error, with a hint that fits the workflow's status.
pub fn error_of(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, refusal: Refusal) -> Error {
    let now = match Teller::new(mailbox, context.loaded()).of_workflow(workflow) {
        Ok(now) => now,
        Err(e) => return e,
    };
    match refusal {
        Refusal::NothingAnswered if now.state == Standing::Waiting => Error::Waiting {
            message: format!("{workflow} still waits ({})", now.why.unwrap_or_default()),
            hint: format!("end the wait yourself: ask-answer {workflow} ANSWER").into(),
        },
        Refusal::NothingAnswered if matches!(now.state, Standing::Pending | Standing::Overdue) => Error::Waiting {
            message: format!("{workflow} still waits for its answer"),
            hint: format!("answer it: ask-answer {workflow} ANSWER").into(),
        },
        Refusal::NothingAnswered if now.state == Standing::Awaiting => Error::Waiting {
            message: format!("{workflow} {}", now.why.unwrap_or_else(|| "waits for what it started".into())),
            hint: now.todo.unwrap_or_else(|| format!("see what it waits for: askbox tree {workflow}")).into(),
        },
        Refusal::NothingAnswered if now.state == Standing::Parked || now.state == Standing::Interrupted => {
            Error::conflict(format!("{workflow} is {}", now.state.word()), format!("run it again: relaunch retry {workflow}"))
        }
        Refusal::NothingAnswered if now.state == Standing::Orphaned => Error::conflict(
            format!("the answer of {workflow} was taken by a process that is gone, which may have given it to an agent"),
            format!("look at what was done, then start an agent with the answer: relaunch {workflow}"),
        ),
        Refusal::NothingAnswered if is_over(now.state) => Error::conflict(
            format!("{workflow} has nothing to run: it is {}", now.state.word()),
            format!("go on with words of your own: relaunch run -w {workflow} --prompt TEXT"),
        ),
        Refusal::NothingAnswered => Error::conflict(
            format!("{workflow} has nothing to run: it is {}", now.state.word()),
            format!("details: relaunch status {workflow}"),
        ),
        Refusal::MayBeUnfinished(_) => {
            Error::Waiting { message: format!("the answer of {workflow} is being written"), hint: "try again in a few seconds".into() }
        }
        Refusal::HandStarted(pid) => Error::conflict(
            format!("process {pid} was started by hand with the answer of {workflow}"),
            format!("look at what it does; to count it: relaunch done {workflow}"),
        ),
        Refusal::EarlierRound(round) => Error::conflict(
            format!("an earlier answer of {workflow} is being delivered ({})", round.question),
            format!("follow it: relaunch logs -f {workflow}"),
        ),
        Refusal::AskerRuns(round) => Error::conflict(
            format!("the session that asked for {workflow} still works for {}", round.workflow),
            format!("wait for its end: relaunch logs -f {}", round.workflow),
        ),
        Refusal::NotTrusted(why) => Error::conflict(
            format!("the answer of {workflow} was refused: {}; the question waits again", why.0),
            format!("answer it so that it counts: ask-answer {workflow} ANSWER; the refused one is kept in quarantine/"),
        ),
        Refusal::AwaitedBySession(_) => Error::conflict(
            format!("the session that asked for {workflow} takes the answer itself"),
            format!("leave it to that session, or start an agent with it: relaunch {workflow}"),
        ),
        Refusal::OfDialog(_) => Error::conflict(
            format!("the answer of {workflow} is for the dialog of a session, and no agent is launched with it"),
            format!("look at it: ask-answer show {workflow}"),
        ),
        Refusal::AwaitedInline(_) => Error::conflict(
            format!("the asker of {workflow} waits for the answer itself (ask-post --wait)"),
            "leave the answer to the asker",
        ),
    }
}

/// The error of a command that found nothing in the workflow to stop, retry or drop. If the workflow is known, it is in another state,
/// which is a conflict. Otherwise the error says that it is unknown.
pub fn in_another_state(mailbox: &Mailbox, workflow: &WorkflowId, error: Error) -> Error {
    match (unless_unknown(mailbox, workflow, error), story::state_of(mailbox, workflow)) {
        (Error::NotFound { message, hint }, Ok(now)) => Error::conflict(format!("{message}: it is {}", now.word()), hint),
        (other, _) => other,
    }
}

/// The error of a command that found no round or run of a workflow. If the workflow is unknown, the error says that instead.
pub fn unless_unknown(mailbox: &Mailbox, workflow: &WorkflowId, error: Error) -> Error {
    let is_unknown = || matches!(forest::check_known(mailbox, workflow), Err(Error::NotFound { .. }));
    match error {
        Error::NotFound { .. } if is_unknown() => story::unknown(mailbox, workflow),
        other => other,
    }
}
