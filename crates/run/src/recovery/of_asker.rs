//! An asker that comes back: an earlier process of it asked the same question, and died after it had claimed the answer.

use crate::attempt::record::{self, Run};
use crate::claim::{Claim, OnRecord, inline};
use crate::delivery::Delivery;
use crate::recovery::processes;
use askbox_mailbox::{Folder, Lock, Mailbox, Question, Result, RoundId, disk, post, recent_rounds, round};

/// The claim of the earlier process, if it was on record. If it was not, the answer lies in `answered/` again. `None` if there was no such
/// process, or if it lives.
///
/// # Errors
/// Those of [`inline::left_behind`], and [`Error::Held`](askbox_mailbox::error::Error::Held) if another process keeps the workflow's lock.
pub fn left_behind(mailbox: &Mailbox, question: &Question) -> Result<Option<Claim<OnRecord>>> {
    let Some(earlier) = round::latest(mailbox, &question.workflow_id) else { return Ok(None) };
    let is_it = question.question_id.is_none_or(|id| id == earlier.id.question) && post::has_same_words(&earlier.document.typed, question);
    if !is_it || earlier.folder != Folder::Running {
        return Ok(None);
    }
    give_back_unrecorded(mailbox, &earlier.id)?;
    inline::left_behind(mailbox, &earlier.id)
}

/// Returns an answer to `answered/` whose claimant died before its claim was on record. A claimant that lives holds one of the two locks.
fn give_back_unrecorded(mailbox: &Mailbox, round: &RoundId) -> Result<()> {
    let _claiming = mailbox.lock(&round.workflow)?;
    recent_rounds::make_folder(mailbox, round)?;
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, round))? else { return Ok(()) };
    let unrecorded = Run::first(round, Delivery::Waiter.claimant());
    // The claimant may have been a supervisor, whose agent waits for its first input.
    if record::latest(mailbox, round)?.is_none() && !processes::may_live(mailbox, &unrecorded)? {
        // If a later answer lies there, recovery gives this one to an agent.
        let _ = disk::rename(&mailbox.round(Folder::Running, round), &mailbox.document(Folder::Answered, &round.workflow))?;
    }
    Ok(())
}
