//! Tells parents how their children ended.
//!
//! Each step is durable before the next begins, and repeating any step changes nothing. So a watcher may be killed at any point,
//! and many watchers may do this at once.

use uuid::Uuid;

use crate::claim::plan;
use crate::{OwnState, Run, outcome, record};
use askbox_config::Config;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::documents::awaited::End;
use askbox_mailbox::documents::question::MAX_ANSWERED;
use askbox_mailbox::{
    Await, Closed, Document, Ended, Error, Folder, Join, Lock, Mailbox, Placed, Question, QuestionId, Result, RoundId, WorkflowId,
    WorkflowLock, awaits, disk, quarantined_round, recent_rounds, round, time, workflows,
};

/// Handles a change of a workflow. If it has ended, this notes the end in its parents' awaits and wakes every parent that can be woken.
/// The workflow itself is woken if its own children have ended. Calls `woken` with each attempt to launch. If another process keeps the
/// lock of a parent, the other parents are woken all the same, and the error comes at the end. A parent that the caller does not serve
/// is not woken, but its await says that the child has ended.
pub fn after_change(
    mailbox: &Mailbox,
    config: &Config,
    workflow: &WorkflowId,
    serves: impl Fn(&WorkflowId) -> bool,
    mut woken: impl FnMut(Run),
) -> Result<()> {
    let mut result = Ok(());
    for parent in awaits::of_child(mailbox, workflow)? {
        let noted = note_end(mailbox, &parent, workflow);
        match noted.and_then(|()| if serves(&parent) { wake(mailbox, config, &parent) } else { Ok(None) }) {
            Ok(run) => run.into_iter().for_each(&mut woken),
            Err(e) => result = result.and(Err(e)),
        }
    }
    note_ends_and_wake(mailbox, config, workflow)?.into_iter().for_each(woken);
    result
}

/// [`after_change`] for a parent that has an await, or the left-overs of one. Returns the attempt to launch.
pub fn note_ends_and_wake(mailbox: &Mailbox, config: &Config, parent: &WorkflowId) -> Result<Option<Run>> {
    for wait in awaits::of_parent(mailbox, parent)? {
        note_end(mailbox, parent, &wait.typed.child)?;
    }
    wake(mailbox, config, parent)
}

/// Writes into one await if and how its child has ended.
fn note_end(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    let Some(known) = awaits::read(mailbox, parent, child)?.map(|d| d.typed) else { return Ok(()) };
    if known.told_by.is_some() || known.ended.as_ref().is_some_and(|e| !e.end.may_change()) {
        return Ok(());
    }
    // The lock is looked at before the child, because a spawn starts the child before it releases the lock.
    let held = awaits::is_held(mailbox, parent, child)?;
    let now = match outcome::own_state(mailbox, child)? {
        OwnState::Ended(ended) if !outcome::is_news(mailbox, &known, &ended)? => None,
        OwnState::Ended(ended) => Some(outcome::store_long_text(mailbox, ended)?),
        OwnState::Unknown if !held => Some(outcome::ended(child, End::Unknown, "it was never started".into())),
        _ => None,
    };
    let noted = known.ended.clone().map(|e| Ended { perhaps_told: false, ..e });
    if now == noted {
        return Ok(());
    }
    let lock = mailbox.lock(parent)?;
    // Another process has changed the await since then, and has done this work.
    let Some(mut wait) = awaits::read(mailbox, parent, child)?.filter(|w| w.typed == known) else { return Ok(()) };
    wait.typed.ended = now;
    awaits::write(mailbox, &lock, wait)
}

/// Creates the round that tells a parent how its children ended, if the parent can be woken now. Returns the round's first attempt.
fn wake(mailbox: &Mailbox, config: &Config, parent: &WorkflowId) -> Result<Option<Run>> {
    if awaits::of_parent(mailbox, parent)?.is_empty() {
        if awaits::has_folder(mailbox, parent) {
            awaits::tidy(mailbox, &mailbox.lock(parent)?)?;
        }
        return Ok(None);
    }
    let lock = mailbox.lock(parent)?;
    let mut waits = Vec::new();
    for wait in awaits::of_parent(mailbox, parent)? {
        match wait.typed.told_by {
            // The round exists, and the process that made it died before it removed the await.
            Some(question) if round::is_claimed_or_closed(mailbox, &RoundId { workflow: parent.clone(), question }) => {
                awaits::remove(mailbox, &lock, &wait.typed.child)?;
            }
            _ => waits.push(wait),
        }
    }
    if waits.is_empty() || round::is_open(mailbox, parent) || quarantined_round::of_workflow(mailbox, parent)?.is_some() {
        return Ok(None);
    }
    // A workflow whose newest round was dropped has no agent to wake.
    let newest = round::latest(mailbox, parent).and_then(|f| f.document.typed.closed);
    if newest.is_some_and(|c| c.state == Closed::Dropped) {
        for wait in &waits {
            awaits::remove(mailbox, &lock, &wait.typed.child)?;
        }
        return Ok(None);
    }
    for wait in &waits {
        if awaits::is_held(mailbox, parent, &wait.typed.child)? {
            return Ok(None);
        }
    }
    let enough = |w: &Await| w.join == Join::Any && w.ended.is_some();
    if !(waits.iter().all(|w| w.typed.ended.is_some()) || waits.iter().any(|w| enough(&w.typed))) {
        return Ok(None);
    }
    waits.retain(|w| w.typed.ended.is_some());
    make_round(mailbox, config, &lock, waits).map(Some)
}

fn make_round(mailbox: &Mailbox, config: &Config, lock: &WorkflowLock, mut waits: Vec<Document<Await>>) -> Result<Run> {
    let parent = lock.workflow().clone();
    // The round's id is derived from the awaits, so that every process makes the same round from the same awaits.
    let names: Vec<u8> = waits.iter().flat_map(|w| *w.typed.await_id.as_bytes()).collect();
    let question = QuestionId::from_uuid(Uuid::new_v5(&Uuid::NAMESPACE_OID, &names));
    let round = RoundId { workflow: parent.clone(), question };
    for wait in &mut waits {
        wait.typed.told_by = Some(question);
        awaits::write(mailbox, lock, wait.clone())?;
    }
    let results = outcome::store_long_texts(mailbox, waits.iter().filter_map(|w| w.typed.ended.clone()).collect())?;
    let words: Vec<_> = results.iter().map(|r| format!("{} {}", r.workflow_id, r.end.word())).collect();
    let document = Question {
        question_id: Some(question),
        timestamp: Some(time::rfc3339(time::now())),
        parent: workflows::read(mailbox, &parent)?.and_then(|d| d.typed.parent),
        trace: waits.first().and_then(|wait| round::latest(mailbox, &wait.typed.child)?.document.typed.trace),
        results,
        prompt: round::first_task(mailbox, &parent).and_then(|task| task.prompt),
        ..Question::new(parent.clone(), format!("told: {}", words.join(", ")))
    };
    let file = Document::new(document.clone())?.to_file_within(MAX_ANSWERED)?;
    recent_rounds::make_folder(mailbox, &round)?;
    let _held = Lock::try_acquire(&record::lock_path(mailbox, &round))?
        .ok_or_else(|| Error::conflict(format!("another process holds the run lock of {round}"), "look: relaunch status"))?;
    let run = match record::latest(mailbox, &round)? {
        Some(run) => run,
        None => {
            let run = plan::first(mailbox, config, &document, &round)?;
            record::create(mailbox, &run)?;
            run
        }
    };
    if disk::create(&mailbox.round(Folder::Running, &round), &file)? == Placed::Done {
        audit::record(mailbox, Entry::about_round("woken", &round).by("askbox").why(words.join(", ")));
    }
    for wait in waits {
        awaits::remove(mailbox, lock, &wait.typed.child)?;
    }
    Ok(run)
}
