//! Telling parents. Every step is durable before the next, and doing any of it twice changes nothing: a watcher may be killed
//! anywhere, and many may do this at once.

use uuid::Uuid;

use crate::chain::outcome::{self, Own};
use crate::config::Config;
use crate::disk::{self, Lock, Placed};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::awaits::{self, Await, End, Ended, Join};
use crate::mailbox::documents::question::{Closed, Question};
use crate::mailbox::documents::workflow;
use crate::mailbox::{Folder, Mailbox, WorkflowLock, close, intake, list};
use crate::run::claim::plan;
use crate::run::claim::record::{self, Claimant, Run};
use crate::time;

/// Something happened to a workflow: who waits for it is told if it has ended, and it is told itself if it can be. Returns the
/// attempts to launch.
pub fn touched(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for parent in awaits::of_child(mailbox, workflow)? {
        settle(mailbox, &parent, workflow)?;
        runs.extend(wake(mailbox, config, &parent)?);
    }
    runs.extend(settle_children(mailbox, config, workflow)?);
    Ok(runs)
}

/// [`touched`] for all that wait, or where somebody was killed who did. What cannot be read holds up its own parent alone.
pub fn all(mailbox: &Mailbox, config: &Config) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for parent in awaits::folders(mailbox)? {
        match settle_children(mailbox, config, &parent) {
            Ok(run) => runs.extend(run),
            Err(e) => crate::log::error(&e),
        }
    }
    Ok(runs)
}

fn settle_children(mailbox: &Mailbox, config: &Config, parent: &WorkflowId) -> Result<Option<Run>> {
    for wait in awaits::of_parent(mailbox, parent)? {
        settle(mailbox, parent, &wait.typed.child)?;
    }
    wake(mailbox, config, parent)
}

/// Brings one wait up to date with how its child stands.
fn settle(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    let Some(known) = awaits::read(mailbox, parent, child)?.map(|d| d.typed) else { return Ok(()) };
    if known.told_by.is_some() || known.ended.as_ref().is_some_and(|e| !e.end.may_change()) {
        return Ok(());
    }
    // Looked at first: whatever its spawn does, it does before it lets go.
    let held = awaits::is_held(mailbox, parent, child)?;
    let now = match outcome::own(mailbox, child)? {
        Own::Ended(ended) if ended.end == End::Stopped && known.patient => None,
        Own::Ended(ended) => Some(outcome::kept(mailbox, ended)?),
        Own::Unknown if !held => {
            let text = "it was never started".into();
            Some(Ended { workflow_id: child.clone(), end: End::Failed, text, file: None, perhaps_told: false })
        }
        _ => None,
    };
    let noted = known.ended.clone().map(|e| Ended { perhaps_told: false, ..e });
    if now == noted {
        return Ok(());
    }
    let lock = mailbox.lock(parent)?;
    // Told in the meantime: nothing is left to be done.
    let Some(mut wait) = awaits::read(mailbox, parent, child)?.filter(|w| w.typed == known) else { return Ok(()) };
    wait.typed.ended = now;
    awaits::write(mailbox, &lock, wait)
}

/// Makes the round that tells a parent how its children ended, if it can be told now. Returns its first attempt.
pub fn wake(mailbox: &Mailbox, config: &Config, parent: &WorkflowId) -> Result<Option<Run>> {
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
            // The round was made, and then somebody died.
            Some(question) if intake::is_over(mailbox, &RoundId { workflow: parent.clone(), question }) => {
                awaits::remove(mailbox, &lock, &wait.typed.child)?;
            }
            _ => waits.push(wait),
        }
    }
    if waits.is_empty() || has_a_round(mailbox, parent) {
        return Ok(None);
    }
    if is_given_up(mailbox, parent)? {
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
    tell(mailbox, config, &lock, waits).map(Some)
}

/// Whether a round of it is open: it is at work, it asks, or somebody stopped it.
fn has_a_round(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    [Folder::Pending, Folder::Answered].iter().any(|f| mailbox.document(*f, workflow).exists())
        || [Folder::Running, Folder::Parked].iter().any(|f| list::round_names(mailbox, *f).any(|r| r.workflow == *workflow))
}

/// Nobody is left to be told.
fn is_given_up(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<bool> {
    let newest = close::latest_round(mailbox, workflow).and_then(|f| f.document.typed.closed);
    Ok(newest.is_some_and(|c| c.state == Closed::Dropped))
}

fn tell(mailbox: &Mailbox, config: &Config, lock: &WorkflowLock, mut waits: Vec<Document<Await>>) -> Result<Run> {
    let parent = lock.workflow().clone();
    // The same waits make the same round, whoever makes it.
    let names: Vec<u8> = waits.iter().flat_map(|w| *w.typed.await_id.as_bytes()).collect();
    let question = QuestionId::from_uuid(Uuid::new_v5(&Uuid::NAMESPACE_OID, &names));
    let round = RoundId { workflow: parent.clone(), question };
    for wait in &mut waits {
        wait.typed.told_by = Some(question);
        awaits::write(mailbox, lock, wait.clone())?;
    }
    let results: Vec<Ended> = waits.iter().filter_map(|w| w.typed.ended.clone()).collect();
    let words: Vec<_> = results.iter().map(|r| format!("{} {}", r.workflow_id, r.end.word())).collect();
    let document = Question {
        question_id: Some(question),
        timestamp: Some(time::rfc3339(time::now())),
        parent: workflow::read(mailbox, &parent)?.and_then(|d| d.typed.parent),
        prompt: first_prompt(mailbox, &parent),
        results,
        ..Question::new(parent.clone(), format!("told: {}", words.join(", ")))
    };
    disk::touch_folder(&mailbox.runs_of(&round))?;
    let _held = Lock::try_acquire(&record::lock_path(mailbox, &round))?
        .ok_or_else(|| Error::conflict(format!("somebody holds the run lock of {round}"), "look: relaunch status"))?;
    let run = match record::latest(mailbox, &round)? {
        Some(run) => run,
        None => {
            let run = plan::first(mailbox, config, &document, &round, Claimant::Supervisor)?;
            record::create(mailbox, &run)?;
            run
        }
    };
    if disk::create(&mailbox.round(Folder::Running, &round), &Document::new(document)?.to_bytes())? == Placed::Done {
        audit::record(mailbox, Entry::of("woken", &round).by("askbox").why(words.join(", ")));
    }
    for wait in waits {
        awaits::remove(mailbox, lock, &wait.typed.child)?;
    }
    Ok(run)
}

/// What a workflow was begun with: for a session that cannot be continued.
fn first_prompt(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<String> {
    close::rounds(mailbox, workflow).into_iter().find_map(|f| f.document.typed.prompt)
}
