//! The stages of a claim: see the drawing in [`crate::claim`].

use crate::approval::standing;
use crate::attempt::record::{self, Run, RunState};
use crate::claim::moved_folder;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::disk::{self, Staged};
use askbox_mailbox::{
    Closed, Closing, Error, Folder, Lock, Mailbox, Placed, QuestionDocument, Result, RoundId, WorkflowLock, close, recent_rounds, workflows,
};

/// A round with its first attempt, at one stage of its claim.
#[derive(Debug)]
#[must_use = "a claimed round that is neither launched nor closed waits for recovery"]
pub struct Claim<Stage> {
    /// The answered document.
    pub document: QuestionDocument,
    /// The first attempt, not launched yet.
    pub run: Run,
    stage: Stage,
}

/// The round can be claimed. Nothing has changed on disk.
pub struct Chosen {
    workflow: WorkflowLock,
}

/// The round is claimed: its document lies in `running/`. The workflow's lock keeps recovery away until the record is there.
#[derive(Debug)]
pub struct Taken {
    workflow: WorkflowLock,
    prepared: Option<PreparedRecord>,
    /// The round's lock, if the record could not be put in place. It is held until the claim is undone: a supervisor that was started
    /// already waits for it, and must not launch a round that is about to be given back.
    round: Option<Lock>,
}

/// The round's lock, and the record of the attempt under a temporary name.
#[derive(Debug)]
struct PreparedRecord {
    round: Lock,
    record: Staged,
}

/// The first attempt's `run.json` has its name. The round's lock keeps recovery away.
#[derive(Debug)]
pub struct OnRecord {
    _round: Lock,
}

impl<Stage> Claim<Stage> {
    /// The claimed round.
    pub fn round(&self) -> RoundId {
        self.run.round()
    }
}

impl Claim<Chosen> {
    pub(super) fn new(document: QuestionDocument, run: Run, workflow: WorkflowLock) -> Self {
        Self { document, run, stage: Chosen { workflow } }
    }

    /// Takes the round. Locks it and writes its record under a temporary name first, so that both syncs overlap.
    pub(super) fn take(self, mailbox: &Mailbox) -> Result<Claim<Taken>> {
        let prepared = PreparedRecord::new(mailbox, &self.run, None)?;
        self.rename(mailbox, Some(prepared))
    }

    /// Takes the round. Its record is written later, while its agent starts.
    pub(super) fn take_to_launch(self, mailbox: &Mailbox) -> Result<Claim<Taken>> {
        self.rename(mailbox, None)
    }

    fn rename(self, mailbox: &Mailbox, prepared: Option<PreparedRecord>) -> Result<Claim<Taken>> {
        let Self { document, run, stage: Chosen { workflow } } = self;
        let round = run.round();
        let from = mailbox.document(Folder::Answered, workflow.workflow());
        // A power cut may bring the old name back beside the new one; `adopt` then removes the old one.
        if disk::rename_ahead(&from, &mailbox.round(Folder::Running, &round))? == Placed::NameExists {
            return Err(Error::conflict(format!("{round} was claimed before"), "see: relaunch status"));
        }
        if prepared.is_none() {
            // If this fails, the record cannot be written either, and the claim is undone.
            let _ = recent_rounds::make_folder(mailbox, &round);
        }
        // If this fails, or the process dies before, the person is asked about the next such call.
        let _ = standing::note_refusal(mailbox, &workflow, &round, &document.typed);
        audit::record(mailbox, Entry::about_round("claimed", &round).by(run.claimant.word()));
        Ok(Claim { document, run, stage: Taken { workflow, prepared, round: None } })
    }
}

impl PreparedRecord {
    /// `held` is the round's lock, if this claim holds it already.
    fn new(mailbox: &Mailbox, run: &Run, held: Option<Lock>) -> Result<Self> {
        recent_rounds::make_folder(mailbox, &run.round())?;
        disk::touch_folder(&run.folder(mailbox))?;
        let round = match held {
            Some(round) => round,
            None => Lock::try_acquire(&record::lock_path(mailbox, &run.round()))?.ok_or_else(|| lock_is_held(&run.round()))?,
        };
        Ok(Self { round, record: record::stage(mailbox, run)? })
    }
}

pub(super) fn lock_is_held(round: &RoundId) -> Error {
    Error::conflict(format!("another process holds the run lock of {round}"), "see: relaunch status")
}

impl Claim<Taken> {
    /// Puts the attempt on record. If that fails, the claim is undone.
    ///
    /// For a supervisor the record is not durable yet: the supervisor syncs it before its agent receives any input. Every other
    /// claimant gets a durable record.
    pub fn put_on_record(self, mailbox: &Mailbox) -> Result<Claim<OnRecord>> {
        let Self { document, run, stage: mut taken } = self;
        let recorded = taken.put_on_record(mailbox, &run).and_then(|on_record| {
            if !run.is_launch() {
                taken.make_durable(mailbox, &document, &run)?;
            }
            Ok(on_record)
        });
        match recorded {
            Ok(stage) => Ok(Claim { document, run, stage }),
            Err(e) => {
                taken.give_back(mailbox, &run);
                Err(e)
            }
        }
    }

    /// The parts, for a supervisor that launches before it puts the attempt on record.
    pub(crate) fn into_parts(self) -> (Run, QuestionDocument, Taken) {
        (self.run, self.document, self.stage)
    }
}

impl Taken {
    /// Puts the attempt on record, as `run` is now. Drop `self` then: it holds the workflow's lock. After an error, try again or
    /// [`give_back`](Self::give_back).
    pub(crate) fn put_on_record(&mut self, mailbox: &Mailbox, run: &Run) -> Result<OnRecord> {
        let PreparedRecord { round, record } = match self.prepared.take() {
            Some(prepared) => prepared,
            None => PreparedRecord::new(mailbox, run, self.round.take())?,
        };
        match record::place_ahead(run, record) {
            Ok(()) => Ok(OnRecord { _round: round }),
            Err(e) => {
                self.round = Some(round);
                Err(e)
            }
        }
    }

    /// Makes a recorded attempt durable, under the lock that `self` holds.
    pub(crate) fn make_durable(&self, mailbox: &Mailbox, document: &QuestionDocument, run: &Run) -> Result<()> {
        make_durable(mailbox, &self.workflow, document, run)
    }

    /// Undoes a claim before anything was launched: the answer returns to `answered/`, and the attempt's record is removed.
    pub(crate) fn give_back(self, mailbox: &Mailbox, run: &Run) {
        let _ = record::forget(mailbox, run);
        let answered = mailbox.document(Folder::Answered, &run.workflow_id);
        let _ = disk::rename(&mailbox.round(Folder::Running, &run.round()), &answered);
    }
}

impl OnRecord {
    /// The claim of an attempt that was put on record before, by the holder of the round's lock.
    pub(crate) fn with_lock(round: Lock) -> Self {
        Self { _round: round }
    }
}

impl Claim<OnRecord> {
    /// The claim of an attempt that is on record, by the holder of the round's lock.
    pub(crate) fn with_lock(document: QuestionDocument, run: Run, round: Lock) -> Self {
        Self { document, run, stage: OnRecord::with_lock(round) }
    }

    /// Releases the round's lock, so that a supervisor can take it, and returns the attempt to supervise.
    #[must_use = "without a supervisor the attempt waits for recovery"]
    pub fn hand_over(self) -> Run {
        self.run
    }

    /// Closes the round as delivered: the claimant has delivered the answer itself.
    pub fn delivered(mut self, mailbox: &Mailbox, by: &str) -> Result<()> {
        self.run.state = RunState::Delivered;
        self.close(mailbox, Closing::now(Closed::Delivered, by, None))
    }

    /// Closes the round as superseded: nobody got its answer, and the question is asked anew.
    pub fn superseded(mut self, mailbox: &Mailbox, by: &str, why: &str) -> Result<()> {
        self.run.state = RunState::Interrupted;
        self.run.why = Some(why.to_owned());
        self.close(mailbox, Closing::now(Closed::Superseded, by, Some(why.to_owned())))
    }

    /// Returns the answer to `answered/`: surely nobody has got it from this claimant.
    ///
    /// # Errors
    /// If the answer stays where it is. Recovery then returns it.
    pub fn given_back(self, mailbox: &Mailbox) -> Result<()> {
        let _lock = mailbox.lock(&self.run.workflow_id)?;
        let answered = mailbox.document(Folder::Answered, &self.run.workflow_id);
        match disk::rename(&mailbox.round(Folder::Running, &self.round()), &answered)? {
            Placed::NameExists => Err(Error::conflict(format!("a later answer of {} waits", self.run.workflow_id), "see: relaunch status")),
            Placed::Done => record::forget(mailbox, &self.run),
        }
    }

    /// Closes the round in this way.
    pub(crate) fn close(mut self, mailbox: &Mailbox, closing: Closing) -> Result<()> {
        let lock = mailbox.lock(&self.run.workflow_id)?;
        self.run.ended_at = Some(askbox_mailbox::time::now());
        record::write(mailbox, &self.run)?;
        close::claimed(mailbox, &lock, Folder::Running, self.run.question_id, closing)
    }
}

/// Makes the attempt's record durable, and notes in the workflow's record what later rounds need to know about this one.
pub(crate) fn make_durable(mailbox: &Mailbox, lock: &WorkflowLock, document: &QuestionDocument, run: &Run) -> Result<()> {
    record::make_durable(mailbox, run)?;
    workflows::update(mailbox, lock, |w| {
        w.parent = w.parent.take().or_else(|| document.typed.parent.clone());
        moved_folder::note(w, run.cwd.as_deref());
        w.config_dir = run.config_dir.clone().or_else(|| w.config_dir.take());
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{ClaimAttempt, take};
    use askbox_config::Config;

    #[test]
    fn an_unrecorded_claim_keeps_the_lock_until_it_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let workflow = "w".parse().unwrap();
        let answered = mailbox.document(Folder::Answered, &workflow);
        std::fs::write(&answered, r#"{"workflow_id":"w","question":"?","answer":"yes"}"#).unwrap();
        let taken = || match take(&mailbox, &Config::default(), &workflow).unwrap() {
            ClaimAttempt::Claimed(claim) => *claim,
            ClaimAttempt::Refused(refusal) => panic!("{refusal:?}"),
        };
        let claim = taken();
        let lock = record::lock_path(&mailbox, &claim.round());
        // An earlier claim of the round was given back while the disk refused to remove its record.
        std::fs::write(claim.run.folder(&mailbox).join("run.json"), "{}").unwrap();
        let (run, _, mut stage) = claim.into_parts();
        assert!(stage.put_on_record(&mailbox, &run).is_err());
        assert!(Lock::is_held(&lock).unwrap());
        // A second try uses the lock that is held.
        assert!(stage.put_on_record(&mailbox, &run).is_err());
        assert!(Lock::is_held(&lock).unwrap() && !answered.exists());
        stage.give_back(&mailbox, &run);
        assert!(!Lock::is_held(&lock).unwrap() && answered.exists());
        assert!(taken().put_on_record(&mailbox).is_ok());
    }
}
