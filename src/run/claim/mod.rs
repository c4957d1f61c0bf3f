//! The claim: `answered/ID.json` → `running/ID.QID.json` by one no-replace rename, under the workflow's lock. Whoever's rename
//! succeeds owns the round; nobody else ever launches it. Before the workflow's lock is let go of, the round's own is held. The
//! first attempt with its session id is on record before the claim returns, or, where the claimant launches at once, while its
//! agent starts; durable it is before an agent is told anything.

pub mod ending;
pub mod history;
pub mod inline;
pub mod plan;
pub mod record;
pub mod recovery;
pub mod task;

use crate::config::Config;
use crate::disk::{self, Lock, Placed, Staged};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::adopt::{self, Adopted};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::Closed;
use crate::mailbox::documents::workflow;
use crate::mailbox::{Folder, Mailbox, Question, QuestionDocument, WorkflowLock, close, intake, list};
use crate::run::claim::record::{Begin, Claimant, Run, State};

/// A round that is ours alone. Its lock is held: while this lives, no recovery touches the round.
#[derive(Debug)]
#[must_use = "a claimed round that is neither launched nor closed waits for recovery"]
pub struct Claim {
    /// The round.
    pub round: RoundId,
    /// The answered document.
    pub document: QuestionDocument,
    /// The attempt, not launched yet.
    pub run: Run,
    lock: Lock,
}

/// Why a round cannot be claimed right now.
#[derive(Debug)]
pub enum Refused {
    /// Nothing of this workflow is answered and unclaimed.
    Nothing,
    /// A stranger's file that may still change.
    Unsettled(std::time::Duration),
    /// An earlier round of the workflow is being delivered; rounds go in order.
    Busy(RoundId),
    /// The session to fork is at work for another workflow, and its transcript not yet whole.
    AskerAtWork(RoundId),
    /// The asker waits for it with `ask-post --wait`.
    AwaitedInline(RoundId),
}

/// The lock that `ask-post --wait` holds from before it posts until it has its answer. One a workflow, since before the post
/// the round has no name, and after it the answer may be quicker than any lock.
#[must_use]
pub fn waiter_path(mailbox: &Mailbox, workflow: &WorkflowId) -> std::path::PathBuf {
    mailbox.runs_of_workflow(workflow).join("waiter")
}

/// A round that was taken, and of which nothing is on record. The workflow's lock is held: until it is let go of, nobody takes the
/// round for one whose claimer died.
#[derive(Debug)]
#[must_use = "a claimed round that is neither launched nor closed waits for recovery"]
pub struct Taken {
    /// The answered document.
    pub document: QuestionDocument,
    /// The attempt, not launched yet.
    pub run: Run,
    workflow: WorkflowLock,
}

/// A claim that is durable, and whose first attempt is not on record yet.
#[must_use = "without its record nobody can launch it"]
pub struct Begun {
    taken: Taken,
    lock: Lock,
    record: Staged,
}

/// Claims the answered round of `workflow`.
pub fn claim(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, claimant: Claimant) -> Result<Result<Claim, Refused>> {
    match begin(mailbox, config, workflow, claimant)? {
        Ok(begun) => begun.finish(mailbox).map(Ok),
        Err(refused) => Ok(Err(refused)),
    }
}

/// The first half of [`claim`].
pub fn begin(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, claimant: Claimant) -> Result<Result<Begun, Refused>> {
    let taken = match choose(mailbox, config, workflow, claimant)? {
        Ok(taken) => taken,
        Err(refused) => return Ok(Err(refused)),
    };
    let lock = occupy(mailbox, &taken.run)?;
    // The disk has begun with it when the claim waits for the disk.
    let record = record::stage(mailbox, &taken.run)?;
    taken.seize(mailbox)?;
    Ok(Ok(Begun { taken, lock, record }))
}

impl Begun {
    /// The attempt. Who supervises it may be started now: it waits for the round's lock, and then reads the record.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.taken.run
    }

    /// The second half of [`claim`]. Where it fails there was no claim.
    pub fn finish(self, mailbox: &Mailbox) -> Result<Claim> {
        let Self { taken: Taken { document, run, workflow }, lock, record } = self;
        let recorded = record::place_ahead(&run, record).and_then(|()| match run.claimant {
            Claimant::Supervisor => Ok(()),
            // Nobody else will.
            Claimant::Inline | Claimant::Prompt => {
                record::settle(mailbox, &run)?;
                remember(mailbox, &workflow, &document, &run)
            }
        });
        recorded.inspect_err(|_| give_back(mailbox, &run, &workflow))?;
        Ok(Claim { round: run.round(), document, run, lock })
    }
}

/// [`claim`] by the supervisor itself, which launches at once and writes the attempt's record then: see
/// [`crate::run::supervise::supervisor::Attempt`].
pub fn claim_to_launch(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Result<Taken, Refused>> {
    match choose(mailbox, config, workflow, Claimant::Supervisor)? {
        Ok(taken) => taken.seize(mailbox).map(|()| Ok(taken)),
        Err(refused) => Ok(Err(refused)),
    }
}

/// Looks what there is to be taken. Nothing is taken yet.
fn choose(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, claimant: Claimant) -> Result<Result<Taken, Refused>> {
    let lock = mailbox.lock(workflow)?;
    intake::settle(mailbox, &lock)?;
    let (document, round) = match adopt::adopt(mailbox, &lock)? {
        Adopted::Ready(document, round) => (*document, round),
        Adopted::Unsettled(wait) => return Ok(Err(Refused::Unsettled(wait))),
        Adopted::Nothing | Adopted::Undone | Adopted::Quarantined => return Ok(Err(Refused::Nothing)),
    };
    // The pending copy of a round we are about to claim must be gone, or it would look like the next round.
    intake::settle(mailbox, &lock)?;
    if claimant != Claimant::Inline && Lock::is_held(&waiter_path(mailbox, workflow))? {
        return Ok(Err(Refused::AwaitedInline(round)));
    }
    // An asker that waits may itself be the run of the earlier round; it launches nobody.
    if claimant != Claimant::Inline
        && let Some(earlier) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == round.workflow)
    {
        return Ok(Err(Refused::Busy(earlier)));
    }
    let run = plan::first(mailbox, config, &document.typed, &round, claimant)?;
    if claimant == Claimant::Supervisor
        && let Some(live) = asker_at_work(mailbox, &document.typed, &run)?
    {
        return Ok(Err(Refused::AskerAtWork(live)));
    }
    if Lock::is_held(&record::lock_path(mailbox, &round))? {
        return Err(somebody_holds(&round));
    }
    Ok(Ok(Taken { document, run, workflow: lock }))
}

/// The round's own lock.
fn occupy(mailbox: &Mailbox, run: &Run) -> Result<Lock> {
    let round = run.round();
    disk::touch_folder(&run.folder(mailbox))?;
    Lock::try_acquire(&record::lock_path(mailbox, &round))?.ok_or_else(|| somebody_holds(&round))
}

/// Locks a round that was just taken, and writes its first attempt.
pub(crate) fn put_on_record(mailbox: &Mailbox, run: &Run, _: &WorkflowLock) -> Result<Lock> {
    let lock = occupy(mailbox, run)?;
    record::create_ahead(mailbox, run)?;
    Ok(lock)
}

fn somebody_holds(round: &RoundId) -> Error {
    Error::conflict(format!("somebody holds the run lock of {round}"), "look: relaunch status")
}

/// Undoes a claim of which nothing was launched: the answer goes back, and the next claim finds no trace of this one.
pub(crate) fn give_back(mailbox: &Mailbox, run: &Run, _: &WorkflowLock) {
    let _ = record::forget(mailbox, run);
    let answered = mailbox.document(Folder::Answered, &run.workflow_id);
    let _ = disk::rename(&mailbox.round(Folder::Running, &run.round()), &answered);
}

/// The live run whose session is to be forked: one that asked for another workflow and went on.
fn asker_at_work(mailbox: &Mailbox, question: &Question, run: &Run) -> Result<Option<RoundId>> {
    let (Begin::Fork { from }, Some(parent)) = (&run.begin, &question.parent) else { return Ok(None) };
    for round in list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == *parent) {
        let its = record::latest(mailbox, &round)?.is_some_and(|r| r.session_id == *from);
        if its && Lock::is_held(&record::lock_path(mailbox, &round))? {
            return Ok(Some(round));
        }
    }
    Ok(None)
}

/// Notes in the workflow's record what later rounds want to know of this one.
pub(crate) fn remember(mailbox: &Mailbox, lock: &WorkflowLock, document: &QuestionDocument, run: &Run) -> Result<()> {
    workflow::update(mailbox, lock, |w| {
        w.parent = w.parent.take().or_else(|| document.typed.parent.clone());
        w.cwd = run.cwd.clone().or_else(|| w.cwd.take());
        w.config_dir = run.config_dir.clone().or_else(|| w.config_dir.take());
    })
    .map(drop)
}

impl Taken {
    /// The claim itself.
    fn seize(&self, mailbox: &Mailbox) -> Result<()> {
        let round = self.run.round();
        let from = mailbox.document(Folder::Answered, self.workflow.workflow());
        // Where a power cut brings the old name back as well, `adopt` tells.
        if disk::rename_ahead(&from, &mailbox.round(Folder::Running, &round))? == Placed::NameExists {
            return Err(Error::conflict(format!("{round} was claimed before"), "look: relaunch status"));
        }
        audit::record(mailbox, Entry::of("claimed", &round).by(&format!("{:?}", self.run.claimant).to_lowercase()));
        Ok(())
    }

    /// What its supervisor needs.
    pub(crate) fn into_parts(self) -> (Run, QuestionDocument, WorkflowLock) {
        (self.run, self.document, self.workflow)
    }
}

impl Claim {
    /// Hands the round to a supervisor: releases its lock. Returns the attempt to supervise.
    #[must_use = "somebody has to supervise it"]
    pub fn into_run(self) -> Run {
        drop(self.lock);
        self.run
    }

    /// Closes the round as delivered: the claimant has handed the answer over itself.
    pub fn delivered(mut self, mailbox: &Mailbox, by: &str) -> Result<()> {
        let lock = mailbox.lock(&self.round.workflow)?;
        self.run.state = State::Delivered;
        self.run.ended_at = Some(crate::time::now());
        record::write(mailbox, &self.run)?;
        close::from_claimed(mailbox, &lock, Folder::Running, self.round.question, Closed::Delivered, by, None)
    }
}
