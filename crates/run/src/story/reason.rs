//! Why a round has its state, and what a person is to do, in words.
//!
//! A round's state as its folder and its document have it, in words: also for a round of another machine.

use crate::asking::next_prompt;
use crate::asking::receipt::{self, NOT_KNOWN_YET};
use crate::attempt::once;
use crate::story::hold_ups::{BY_SESSION, Found};
use crate::story::kind::Cause;
use crate::story::shape::Standing;
use crate::story::teller::Teller;
use crate::{HoldUp, Run, delivery, record};
use askbox_mailbox::{Folder, Mailbox, Question, Round, RoundId, WorkflowId, text, timers};

/// The words of a story.
pub(super) struct Reason {
    pub why: Option<String>,
    pub todo: Option<String>,
}

impl Reason {
    /// The words about a round that these hold up. `to_session`: the session that asked takes its answer itself.
    pub(super) fn of(teller: &Teller<'_>, found: Found<'_>, to_session: bool, hold_ups: &[HoldUp]) -> Self {
        let Found { round, run, state, .. } = found;
        let is_for_watcher = |cause| matches!(cause, Cause::NoWatcher | Cause::WatcherStopped);
        let is_to_launch =
            matches!(state, Standing::Answered | Standing::Queued | Standing::Retrying | Standing::Throttled | Standing::Orphaned)
                && !to_session;
        let first = hold_ups.first().filter(|first| is_for_watcher(first.cause) || is_to_launch && says_more(first.cause));
        // A person who mends only the first cause would meet the next one.
        let others = hold_ups.iter().skip(1).filter(|other| is_to_launch && other.cause.is_in_the_way() && says_more(other.cause));
        let clauses: Vec<_> = first.into_iter().chain(others).map(|hold_up| hold_up.clause(|at| teller.moment(at))).collect();
        let own = || own_why(teller.mailbox, found, to_session, hold_ups);
        let why = match first {
            Some(_) if matches!(state, Standing::Answered | Standing::Queued) => {
                let earlier = earlier_failure(teller.mailbox, round, run);
                Some(clauses.join("; also, ") + &earlier.unwrap_or_default())
            }
            Some(_) => also(own().as_deref(), &clauses.join("; also, ")),
            None if state == Standing::Sent => Some(receipt::NOT_KNOWN_YET.into()),
            None => own(),
        };
        let open = hold_ups.iter().find(|hold_up| hold_up.cause == Cause::MayHaveRun);
        let why = open.map_or(why.clone(), |open| also(why.as_deref(), &open.why));
        let of_first = first.filter(|first| first.cause.is_in_the_way()).map(|first| match first.cause {
            Cause::NoWatcher if is_to_launch => format!("{}, or once: relaunch {}", first.next, round.workflow),
            _ => first.next.clone(),
        });
        Self { why, todo: own_todo(found, to_session, hold_ups).or(of_first) }
    }
}

/// One reason and another one.
pub(super) fn also(one: Option<&str>, other: &str) -> Option<String> {
    Some(one.into_iter().chain([other]).collect::<Vec<_>>().join("; "))
}

/// The reason that lies in the round itself.
fn own_why(mailbox: &Mailbox, Found { round, question, run, state }: Found<'_>, to_session: bool, hold_ups: &[HoldUp]) -> Option<String> {
    let wait = question.until.as_ref().filter(|_| state == Standing::Waiting);
    let is_undecided = state == Standing::Overdue && timers::is_undecided(mailbox, question, round);
    let refused = question.taken_back.as_ref().filter(|_| question.answer.is_none()).and_then(|back| back.refused.as_ref());
    run.and_then(|run| once::without(run.why.as_deref()?))
        .or_else(|| question.closed.as_ref().and_then(|closing| closing.why.clone()))
        .or_else(|| refused.map(|why| format!("an answer was refused: {why}")))
        .or_else(|| is_undecided.then(|| timers::UNDECIDED.into()))
        .or_else(|| to_session.then(|| hold_ups.first().map_or_else(|| BY_SESSION.to_owned(), |first| first.why.clone())))
        .or_else(|| wait.map(|until| until.not_for_a_person(&question.question, question.expires_at)))
}

/// The step for a person that lies in the round itself.
fn own_todo(Found { round, question, run, state }: Found<'_>, to_session: bool, hold_ups: &[HoldUp]) -> Option<String> {
    // A round that is over needs no action, unless its answer has reached nobody.
    let failure = run.filter(|_| state.is_open()).and_then(|run| run.failure.as_ref());
    failure
        .map(|failure| failure.todo.clone())
        .filter(|todo| !todo.is_empty())
        .or_else(|| (state == Standing::Interrupted).then(|| after_a_stop(&round.workflow, hold_ups)))
        .or_else(|| (state == Standing::Sent).then(|| receipt::if_you_know(&round.workflow)))
        .or_else(|| to_session.then(|| instead_of_its_session(question)))
        .or_else(|| question.closed.as_ref().and_then(|_| next_prompt::offer(question)))
}

/// Why the attempt failed that came before the one that waits in the queue. `None` if there was none.
fn earlier_failure(mailbox: &Mailbox, round: &RoundId, run: Option<&Run>) -> Option<String> {
    let attempt = run?.attempt.checked_sub(1).filter(|attempt| *attempt > 0)?;
    let why = record::read(mailbox, round, attempt).ok()?.why?;
    Some(format!("; attempt {attempt} failed: {}", text::excerpt(&why, 200)))
}

/// True if the words of this cause say more than the round's state does.
fn says_more(cause: Cause) -> bool {
    !matches!(cause, Cause::Retry | Cause::Throttled | Cause::Orphaned | Cause::Elsewhere)
}

/// The commands for a run that was stopped.
fn after_a_stop(workflow: &WorkflowId, hold_ups: &[HoldUp]) -> String {
    let next = hold_ups.first().map_or_else(|| format!("relaunch {workflow}"), |stopped| stopped.next.clone());
    format!("go on: {next}; or give it up: relaunch drop {workflow}")
}

/// The commands for a person whose answer waits for its session.
fn instead_of_its_session(question: &Question) -> String {
    let resume = delivery::resume_command(question).map(|command| format!("resume it: {command}; or ")).unwrap_or_default();
    format!("{resume}start an agent with the answer: relaunch {}", question.workflow_id)
}

/// A round's state, in words.
pub fn in_words(found: &Round) -> String {
    match (&found.document.typed.closed, found.folder) {
        (Some(closing), _) => {
            let why = closing.why.as_deref().map_or(String::new(), |why| format!(": {}", text::excerpt(why, 200)));
            format!("{} by {}{why}", closing.state.word(), text::excerpt(&closing.by, 60))
        }
        (None, Folder::Pending) if found.document.typed.until.is_some() => "waiting for its event".into(),
        (None, Folder::Pending) => "waiting for an answer".into(),
        (None, Folder::Answered) if found.document.typed.taken_back.is_some() && found.document.typed.answer.is_none() => {
            format!("its answer was being taken back; to complete that: ask-answer undo {}", found.id.workflow)
        }
        (None, Folder::Answered) => "answered; no run has claimed it yet".into(),
        (None, Folder::Running) if found.document.typed.live.is_some() => NOT_KNOWN_YET.into(),
        (None, Folder::Running) => "answered; a run has claimed it".into(),
        (None, Folder::Parked) => "answered; parked".into(),
        (None, folder) => folder.name().into(),
    }
}
