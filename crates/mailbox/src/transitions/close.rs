//! The transition to `closed/`: the end of a round.
//!
//! A pending question ([`pending`]):
//! 1. Make the folder `runs/W/Q`, so that the workflow's rounds can be found.
//! 2. Replace `pending/W.json` by the document with `closed` set. This is **the commit point**.
//! 3. Sync the folder's name, move the document to `closed/W.Q.json`, and remove its timers.
//!
//! A claimed round ([`claimed`], or [`prepare`] and [`PreparedClose::commit`]):
//! 1. Stage the document with `closed` set.
//! 2. Replace the document in `running/` or `parked/`. This is **the commit point**, unless the run's record already holds the receipt.
//! 3. Move it to `closed/W.Q.json`. Only `closed/` is synced. After a power cut the round may lie in both folders. The next program
//!    that finds both removes the claimed copy (see [`is_closed`]).
//!
//! After a crash between two steps, [`crate::transitions::settle`] or the recovery of runs does the rest.

use crate::audit::{self, Entry};
use crate::documents::question::MAX_PENDING;
use crate::listing::closings;
use crate::quarantine::quarantine;
use crate::{
    Closing, Folder, Mailbox, Question, QuestionDocument, QuestionId, Result, RoundId, WorkflowLock, disk, read_question, recent_rounds,
    round, timers, wake,
};

/// Closes a pending question. The caller holds the workflow's lock and has settled the workflow. Returns the round.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the document would be too long. [`Error::Io`](crate::error::Error::Io) if
/// the system refuses.
pub fn pending(mailbox: &Mailbox, lock: &WorkflowLock, mut document: QuestionDocument, closing: Closing) -> Result<RoundId> {
    let round = round::of_pending(mailbox, &document.typed)?;
    document.typed.question_id = Some(round.question);
    document.typed.closed = Some(closing);
    document.update()?;
    let file = document.to_file_within(MAX_PENDING)?;
    recent_rounds::make_folder(mailbox, &round)?;
    disk::replace(&mailbox.document(Folder::Pending, lock.workflow()), &file)?;
    move_to_closed(mailbox, Folder::Pending, &round)?;
    timers::disarm(mailbox, &document.typed, &round);
    Ok(round)
}

/// Closes a round in `running/` or `parked/`. The caller holds the workflow's lock. Does nothing if the round is already closed.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the document cannot be used, or would be too long.
/// [`Error::Newer`](crate::error::Error::Newer) if a newer askbox wrote it. [`Error::Io`](crate::error::Error::Io) if the system
/// refuses.
pub fn claimed(mailbox: &Mailbox, lock: &WorkflowLock, from: Folder, question: QuestionId, closing: Closing) -> Result<()> {
    prepare(mailbox, lock, from, question, closing)?.map_or(Ok(()), |close| close.commit(mailbox))
}

/// A claimed round whose closing document is staged. See [`prepare`].
#[must_use = "the round is closed only by commit"]
pub struct PreparedClose {
    from: Folder,
    round: RoundId,
    document: QuestionDocument,
    closing: Closing,
    staged: disk::Staged,
}

/// The first step of [`claimed`]. The disk begins to write while the caller does other things. Returns `None` if the round is
/// already closed.
///
/// # Errors
/// Those of [`claimed`].
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
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn commit(self, mailbox: &Mailbox) -> Result<()> {
        let Self { from, round, document, closing, staged } = self;
        let path = mailbox.round(from, &round);
        staged.replace_ahead()?;
        match closings::changing(mailbox, &round, || disk::begin_rename(&path, &mailbox.round(Folder::Closed, &round)))? {
            Some(renamed) => {
                renamed.finish_ahead()?;
                record(mailbox, &round, &document.typed, closing);
            }
            None if is_closed(mailbox, &round, &document) => disk::untouch(&path)?,
            None => {
                quarantine(mailbox, &path, round.file_name(), "its round is closed already, with another answer")?;
            }
        }
        Ok(())
    }
}

/// True if `closed/` holds the round of a claimed document with the same answer. Then a power cut brought the claimed copy back,
/// and the caller may remove it.
pub fn is_closed(mailbox: &Mailbox, round: &RoundId, document: &QuestionDocument) -> bool {
    let closed = read_question::document(&mailbox.round(Folder::Closed, round)).map(|closed| closed.typed);
    closed.is_ok_and(|closed| closed.closed.is_some() && closed.answer == document.typed.answer)
}

/// The last step: moves a document that has its field `closed` to `closed/`. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) or [`Error::Newer`](crate::error::Error::Newer) if the document cannot be used.
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn move_to_closed(mailbox: &Mailbox, from: Folder, round: &RoundId) -> Result<()> {
    if from == Folder::Pending {
        recent_rounds::make_folder(mailbox, round)?;
        // Another program may have made the folder without syncing its name. Then a power cut would hide the round from its workflow.
        disk::sync_names_up_to(&mailbox.runs_of_workflow(&round.workflow), &mailbox.folder(Folder::Runs))?;
    }
    let path = round::path(mailbox, from, round);
    let document = read_question::document(&path)?.typed;
    let closed = mailbox.round(Folder::Closed, round);
    let Some(renamed) = closings::changing(mailbox, round, || disk::begin_rename(&path, &closed))? else {
        // A power cut can bring the old name back beside the new one.
        if read_question::document(&closed).is_ok_and(|there| there.typed == document) {
            return disk::untouch(&path);
        }
        // Another program put this copy here.
        quarantine(mailbox, &path, round.workflow.file_name(), "its round is closed already")?;
        return Ok(());
    };
    renamed.finish()?;
    if let Some(closing) = document.closed.clone() {
        record(mailbox, round, &document, closing);
    }
    Ok(())
}

fn record(mailbox: &Mailbox, round: &RoundId, question: &Question, closing: Closing) {
    audit::record(mailbox, Entry::about_round(closing.state.word(), round).by(&closing.by).why(closing.why.unwrap_or_default()));
    wake::by_end(mailbox, question);
    wake::starter(mailbox, &round.workflow);
}
