//! The attempt to supervise, and the steps that make this process its only supervisor.
//!
//! ```text
//! Attempt::Taken      claimed by this process, no run.json ──put_on_record──▶ run.json written, round's lock held
//! Attempt::Recorded   run.json written, round's lock free  ──own────────────▶ run.json written, round's lock held
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::attempt::record::{self, Record, Run, RunState};
use crate::claim::{self, Claim, OnRecord, Taken};
use crate::process::agent_lock;
use crate::process::launch::Handed;
use crate::supervise::event_log;
use askbox_config::Config;
use askbox_mailbox::disk::{Lock, Staged};
use askbox_mailbox::documents::fields::asked_in::Nonce;
use askbox_mailbox::{Error, Folder, Mailbox, QuestionDocument, Result, RoundId, disk, read_question, text, time};

/// How long to wait for the lock of the process that just claimed the round, which releases it soon. A supervisor at work holds it for
/// longer.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// The same as long as the record says that nobody has begun the attempt. A watcher that looks for it may be slow on a busy machine.
const LONGEST_PATIENCE: Duration = Duration::from_secs(20);

/// The attempt to supervise.
#[derive(Debug)]
pub enum Attempt {
    /// An attempt whose `run.json` exists. The lock of its round is free, or the claimer is about to release it.
    Recorded {
        /// Its round.
        round: RoundId,
        /// Its number, from 1.
        attempt: u32,
    },
    /// An attempt that this process claimed with [`crate::claim::take_to_launch`]. It has no `run.json` yet.
    Taken(Box<Claim<Taken>>),
}

impl Attempt {
    /// `runs/WORKFLOW/QUESTION/ATTEMPT`.
    pub fn folder(&self, mailbox: &Mailbox) -> PathBuf {
        match self {
            Self::Recorded { round, attempt } => record::folder(mailbox, round, *attempt),
            Self::Taken(claim) => claim.run.folder(mailbox),
        }
    }

    /// Takes the round's lock, unless this process owns the round already.
    pub(crate) fn own(self, mailbox: &Mailbox) -> Result<Owned> {
        match self {
            Self::Taken(claim) => {
                let (run, document, taken) = claim.into_parts();
                Ok(Owned::Ours(Box::new(OwnedAttempt { run, document: Some(document), stage: Stage::Taken(taken) })))
            }
            Self::Recorded { round, attempt } => {
                let lock = lock_round(mailbox, &round, attempt)?;
                // Read only now, because without the lock another process could still change the record.
                let run = record::read(mailbox, &round, attempt)?;
                match lock {
                    Some(lock) if run.state == RunState::Claimed && disk::exists(mailbox.round(Folder::Running, &round)) => {
                        Ok(Owned::Ours(Box::new(OwnedAttempt { run, document: None, stage: Stage::OnRecord(OnRecord::with_lock(lock)) })))
                    }
                    _ => Ok(Owned::NotOurs(Box::new(run))),
                }
            }
        }
    }
}

impl From<&Run> for Attempt {
    fn from(run: &Run) -> Self {
        Self::Recorded { round: run.round(), attempt: run.attempt }
    }
}

/// The result of [`Attempt::own`].
pub(crate) enum Owned {
    /// This process is the attempt's only supervisor.
    Ours(Box<OwnedAttempt>),
    /// Another process supervises the round, or the attempt is over. The record as it is.
    NotOurs(Box<Run>),
}

/// An attempt that only this process may launch. The lock is released when this is dropped.
pub(crate) struct OwnedAttempt {
    pub(crate) run: Run,
    /// The round's document, if it has been read.
    pub(crate) document: Option<QuestionDocument>,
    stage: Stage,
}

/// The stage of the round's claim. Either stage holds a lock that keeps every other process away from the round.
enum Stage {
    Taken(Taken),
    OnRecord(OnRecord),
}

impl OwnedAttempt {
    /// Takes the round's document.
    pub(crate) fn take_document(&mut self, mailbox: &Mailbox) -> Result<QuestionDocument> {
        let round = self.run.round();
        self.document.take().map_or_else(|| read_question::of_round(&mailbox.round(Folder::Running, &round), &round), Ok)
    }

    /// Refuses an agent definition and a model that were chosen for a runner that has none. `why` is the end of the sentence.
    pub(crate) fn refuse_choices(&self, why: &str, fix: &str) -> Result<()> {
        let Run { role, model, runner, .. } = &self.run;
        match [("agent definition", role), ("model", model)].into_iter().find_map(|(what, chosen)| Some((what, chosen.as_ref()?))) {
            Some((what, chosen)) => {
                Err(Error::failed(format!("{what} `{}` was chosen, and [runner.{runner}] {why}", text::excerpt(chosen, 80)), fix))
            }
            None => Ok(()),
        }
    }

    /// Notes that the agent is launched now, with this secret. Returns `run.json` under a temporary name; `None` if the attempt has none yet.
    pub(crate) fn begin(&mut self, mailbox: &Mailbox, nonce: &Nonce) -> Result<Option<Staged>> {
        let run = &mut self.run;
        (run.nonce_hash, run.state, run.started_at) = (Some(nonce.proof().hash()), RunState::Running, Some(time::now()));
        match self.stage {
            Stage::OnRecord(_) => Record::read(mailbox, &run.round(), run.attempt)?.stage(run).map(Some),
            Stage::Taken(_) => Ok(None),
        }
    }

    /// Begins the attempt with its record durable, for an agent that may work before it was told anything.
    pub(crate) fn begin_durably(&mut self, mailbox: &Mailbox, config: &Config) -> Result<(QuestionDocument, Handed)> {
        let document = self.take_document(mailbox)?;
        let handed = Handed::new(config, &document.typed, &self.run);
        self.begin(mailbox, &handed.nonce)?.map_or(Ok(()), Staged::replace_ahead)?;
        self.make_durable(mailbox, &document)?;
        Ok((document, handed))
    }

    /// Writes the attempt's `run.json` if it has none. If that fails the claim is undone, so no process of the attempt may be alive.
    pub(crate) fn put_on_record(self, mailbox: &Mailbox) -> Result<Self> {
        let Self { run, document, stage } = self;
        let on_record = match stage {
            Stage::OnRecord(on_record) => on_record,
            Stage::Taken(mut taken) => taken.put_on_record(mailbox, &run).inspect_err(|_| {
                event_log::remove(mailbox, &run);
                let _ = disk::untouch(&agent_lock::path(&run.folder(mailbox)));
                taken.give_back(mailbox, &run);
            })?,
        };
        Ok(Self { run, document, stage: Stage::OnRecord(on_record) })
    }

    /// Makes the attempt's record durable, with its session, and notes its folders in the workflow's record.
    pub(crate) fn make_durable(&mut self, mailbox: &Mailbox, document: &QuestionDocument) -> Result<()> {
        match &mut self.stage {
            Stage::OnRecord(_) => claim::make_durable(mailbox, &mailbox.lock(&self.run.workflow_id)?, document, &self.run),
            Stage::Taken(taken) => {
                let on_record = taken.put_on_record(mailbox, &self.run)?;
                let durable = taken.make_durable(mailbox, document, &self.run);
                // Releases the workflow's lock.
                self.stage = Stage::OnRecord(on_record);
                durable
            }
        }
    }
}

/// Takes the lock of a round; `None` if another process keeps it.
fn lock_round(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Result<Option<Lock>> {
    let path = record::lock_path(mailbox, round);
    let begun = Instant::now();
    let has_begun = || record::read(mailbox, round, attempt).map(|run| run.state != RunState::Claimed);
    let mut pause = Duration::from_micros(100);
    loop {
        match Lock::try_acquire(&path)? {
            Some(lock) => return Ok(Some(lock)),
            None if begun.elapsed() > LONGEST_PATIENCE => return Ok(None),
            None if begun.elapsed() > LOCK_PATIENCE && has_begun()? => return Ok(None),
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
