//! The transition to `closed/`: the end of a round.
//!
//! A pending question ([`pending`]):
//! 1. make the folder `runs/W/Q`, by which the workflow's rounds are found;
//! 2. replace `pending/W.json` by the document with `closed` set: **the commit point**;
//! 3. sync the folder's name, move the document to `closed/W.Q.json`, remove its timers.
//!
//! A claimed round ([`claimed`], or [`prepare`] and [`PreparedClose::commit`]):
//! 1. stage the document with `closed` set;
//! 2. replace the document in `running/` or `parked/`: **the commit point**, unless the run's record holds the receipt already;
//! 3. move it to `closed/W.Q.json`. Only `closed/` is synced: after a power cut the round may lie in both folders, and the next
//!    program that finds it so removes the claimed copy (see [`is_closed`]).
//!
//! What a crash leaves between two steps is completed by [`crate::mailbox::transitions::settle`] or by the recovery of runs.

use crate::disk::{self, Placed};
use crate::error::Result;
use crate::id::{QuestionId, RoundId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::fields::closing::Closing;
use crate::mailbox::documents::question::{MAX_PENDING, QuestionDocument};
use crate::mailbox::due::timers;
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::quarantine::quarantine;
use crate::mailbox::{read_question, round};

/// Closes a pending question. The caller holds the workflow's lock and has settled the workflow.
pub fn pending(mailbox: &Mailbox, lock: &WorkflowLock, mut document: QuestionDocument, closing: Closing) -> Result<RoundId> {
    let round = round::of_pending(mailbox, &document.typed)?;
    document.typed.question_id = Some(round.question);
    document.typed.closed = Some(closing);
    document.update()?;
    let file = document.to_file_within(MAX_PENDING)?;
    create_runs_folder(mailbox, &round)?;
    disk::replace(&mailbox.document(Folder::Pending, lock.workflow()), &file)?;
    move_to_closed(mailbox, Folder::Pending, &round)?;
    timers::disarm(mailbox, &document.typed, &round);
    Ok(round)
}

/// Closes a round in `running/` or `parked/`. The caller holds the workflow's lock.
pub fn claimed(mailbox: &Mailbox, lock: &WorkflowLock, from: Folder, question: QuestionId, closing: Closing) -> Result<()> {
    prepare(mailbox, lock, from, question, closing)?.map_or(Ok(()), |close| close.commit(mailbox))
}

/// A claimed round whose closing document is staged.
#[must_use = "the round is closed only by commit"]
pub struct PreparedClose {
    from: Folder,
    round: RoundId,
    document: QuestionDocument,
    closing: Closing,
    staged: disk::Staged,
}

/// The first step of [`claimed`]: the disk begins to write while the caller does other things. `None` if the round is closed
/// already.
pub fn prepare(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    from: Folder,
    question: QuestionId,
    closing: Closing,
) -> Result<Option<PreparedClose>> {
    let round = RoundId { workflow: lock.workflow().clone(), question };
    let path = mailbox.round(from, &round);
    let mut document = match read_question::document(&path) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() && disk::exists(mailbox.round(Folder::Closed, &round)) => return Ok(None),
        Err(e) => return Err(e),
    };
    document.set_field("closed", &closing)?;
    let staged = disk::stage(&path, &document.to_file()?)?;
    Ok(Some(PreparedClose { from, round, document, closing, staged }))
}

impl PreparedClose {
    /// The second and third step of [`claimed`]. The caller has held the workflow's lock since [`prepare`].
    pub fn commit(self, mailbox: &Mailbox) -> Result<()> {
        let Self { from, round, document, closing, staged } = self;
        let path = mailbox.round(from, &round);
        staged.replace_ahead()?;
        match disk::rename_ahead(&path, &mailbox.round(Folder::Closed, &round))? {
            Placed::Done => record(mailbox, &round, closing),
            Placed::NameExists if is_closed(mailbox, &round, &document) => disk::untouch(&path)?,
            Placed::NameExists => {
                quarantine(mailbox, &path, round.file_name(), "its round is closed already, with another answer")?;
            }
        }
        Ok(())
    }
}

/// Whether `closed/` holds the round of a claimed document, with the same answer. Then the claimed copy is one that a power cut
/// brought back, and the caller may remove it.
#[must_use]
pub fn is_closed(mailbox: &Mailbox, round: &RoundId, document: &QuestionDocument) -> bool {
    let closed = read_question::document(&mailbox.round(Folder::Closed, round)).map(|closed| closed.typed);
    closed.is_ok_and(|closed| closed.closed.is_some() && closed.answer == document.typed.answer)
}

/// The last step: moves a document that has its field `closed` to `closed/`. The caller holds the workflow's lock.
pub fn move_to_closed(mailbox: &Mailbox, from: Folder, round: &RoundId) -> Result<()> {
    if from == Folder::Pending {
        create_runs_folder(mailbox, round)?;
        // Another program may have made the folder and not synced its name. A power cut would then hide the round from its workflow.
        disk::sync_names_up_to(&mailbox.runs_of_workflow(&round.workflow), &mailbox.folder(Folder::Runs))?;
    }
    let path = round::path(mailbox, from, round);
    let document = read_question::document(&path)?.typed;
    let closed = mailbox.round(Folder::Closed, round);
    if disk::rename(&path, &closed)? == Placed::NameExists {
        // A power cut can bring the old name back beside the new one.
        if read_question::document(&closed).is_ok_and(|there| there.typed == document) {
            return disk::untouch(&path);
        }
        // Another program put this copy here.
        quarantine(mailbox, &path, round.workflow.file_name(), "its round is closed already")?;
        return Ok(());
    }
    if let Some(closing) = document.closed {
        record(mailbox, round, closing);
    }
    Ok(())
}

/// Makes the `runs/` folder of a round that never ran. [`move_to_closed`] syncs it.
fn create_runs_folder(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    disk::touch_folder(&mailbox.runs_of(round))
}

fn record(mailbox: &Mailbox, round: &RoundId, closing: Closing) {
    audit::record(mailbox, Entry::of(closing.state.word(), round).by(&closing.by).why(closing.why.unwrap_or_default()));
}
