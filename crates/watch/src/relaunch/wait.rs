//! `relaunch wait`: waits for the end of a workflow, and launches nothing.

use std::time::{Duration, Instant};

use crate::relaunch::spawn_resume::{exit_status, tell_end, told_archived, wait_limit};
use crate::relaunch::starting_session::StartingSession;
use askbox_cli::{Context, program};
use askbox_mailbox::{Error, Folder, Lock, Mailbox, Result, WorkflowId, disk, lineage, list, round, text, time};
use askbox_run::chain::progress;
use askbox_run::{Cause, OwnState, Teller, log, outcome, record, story};

/// The longest default wait, outside an agent's Bash tool.
const MAX_WAIT: Duration = Duration::from_secs(2 * 60 * 60);

/// The most questions that are named.
const NAMED: usize = 3;

/// Waits until the workflow has ended, and prints how it ended.
///
/// # Errors
/// [`Error::Waiting`] if the time is over first, [`Error::NotFound`] if nothing is known about the workflow.
pub fn wait(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, timeout: Option<Duration>, json: bool) -> Result<u8> {
    let limit = wait_limit(timeout, MAX_WAIT);
    let deadline = Instant::now() + limit;
    if outcome::own_state(mailbox, workflow)? == OwnState::Unknown && round::latest(mailbox, workflow).is_none() {
        return told_archived(mailbox, workflow, json, || story::unknown(mailbox, workflow));
    }
    log::warnings_to_stderr();
    if program::says_to_terminal() {
        program::say(&format!("waiting up to {} for {workflow} to end; to follow it: relaunch logs -f {workflow}\n", time::human(limit)));
    }
    let session = StartingSession::of_look(mailbox, workflow);
    let mut told = None;
    let mut tell = |asks: bool| -> Result<()> {
        let now = what_it_waits_for(mailbox, context, workflow, asks)?;
        // The words may hold an age, which changes at each look.
        let kind = now.as_ref().map(|(cause, words)| (*cause, cause.is_none().then(|| words.clone())));
        if told.as_ref() != Some(&kind) {
            now.iter().for_each(|(_, words)| tracing::warn!("{words}"));
            told = Some(kind);
        }
        Ok(())
    };
    let Some(ended) = progress::wait_for_end(mailbox, workflow, deadline, &mut tell)? else {
        let state = story::state_of(mailbox, workflow)?;
        let message = format!("the time is over, and {workflow} has not ended: it is {}", state.word());
        let hint =
            match what_it_waits_for(mailbox, context, workflow, outcome::tree_state(mailbox, workflow)? == outcome::TreeState::Asking)? {
                Some((_, words)) => words,
                None => format!("wait again: relaunch wait {workflow}"),
            };
        return Err(Error::Waiting { message, hint: hint.into() });
    };
    tell_end(mailbox, workflow, &ended, json)?;
    session.was_told();
    if ended.end.may_change()
        && let Some(next) = Teller::new(mailbox, context.loaded()).at_a_glance(workflow).next
    {
        program::say(&format!("next: {next}\n"));
    }
    Ok(exit_status(&ended))
}

/// Says what the workflow waits for, and the command that changes it, if that is known.
fn what_it_waits_for(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, asks: bool) -> Result<Option<(Option<Cause>, String)>> {
    let teller = Teller::new(mailbox, context.loaded());
    let story = teller.at_a_glance(workflow);
    // A parent waits for what it started, which may be held up by what holds up everything.
    let is_own = |cause: &Cause| !matches!(cause, Cause::Child | Cause::Person);
    if let (Some(cause), Some(next)) = (story.cause.filter(is_own), &story.next) {
        let why = story.why.as_deref().or(story.hold_ups.first().map(|first| first.why.as_str())).unwrap_or_default();
        let by_hand = if cause == Cause::NoWatcher { format!(", or run relaunch resume {workflow}") } else { String::new() };
        return Ok(Some((Some(cause), format!("{workflow} is {}: {}: {next}{by_hand}", story.state.word(), text::excerpt(why, 300)))));
    }
    if asks {
        let what = if story.cause == Some(Cause::Person) { "an answer" } else { "an answer, or an event," };
        return Ok(Some((None, format!("{workflow} needs {what} to go on: {}", which(mailbox, workflow)?))));
    }
    if has_live_run(mailbox)? {
        return Ok(None);
    }
    Ok(teller.general().first().map(|known| (Some(known.cause), format!("nothing launches what {workflow} needs: {}", known.words()))))
}

/// The commands that show the questions of a workflow and of everything below it; the command that shows all of them if there are many.
fn which(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<String> {
    let members = lineage::members(mailbox, workflow)?;
    let asking: Vec<_> = members.into_iter().filter(|id| disk::exists(mailbox.document(Folder::Pending, id))).take(NAMED + 1).collect();
    if asking.is_empty() || asking.len() > NAMED {
        return Ok(format!("askbox tree {workflow}"));
    }
    Ok(asking.iter().map(|id| format!("ask-answer show {id}")).collect::<Vec<_>>().join("; "))
}

/// True if a process supervises any run of the mailbox.
fn has_live_run(mailbox: &Mailbox) -> Result<bool> {
    for round in list::round_names(mailbox, Folder::Running) {
        if Lock::is_held(&record::lock_path(mailbox, &round))? {
            return Ok(true);
        }
    }
    Ok(false)
}
