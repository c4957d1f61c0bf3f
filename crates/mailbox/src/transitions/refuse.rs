//! The transition `answered/` → `pending/` of an answer that does not count: the operator does not trust it (see
//! [`trust`](crate::trust)).
//!
//! The steps, under the workflow's lock:
//! 1. Keep a copy of the document in `quarantine/`, with the reason beside it.
//! 2. Replace `answered/WORKFLOW.json` by the question without its answer, with `taken_back`. This is **the commit point**.
//! 3. Remove the answer from the checkpoints, move the file to `pending/`, and make its timers. Steps 2 and 3 are shared with
//!    [`super::undo`].
//!
//! If the program dies before step 2, the next claimant refuses the answer again, and the copy is already there. So the question
//! waits for an answer that counts, and the refused answer is not lost.

use crate::audit::{self, Entry};
use crate::disk;
use crate::document::Stored;
use crate::documents::question::QuestionDocument;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::layout::{Folder, Mailbox, WorkflowLock};
use crate::quarantine;
use crate::text;
use crate::transitions::undo;
use crate::trust::policy::WhyRefused;

/// The beginning of the reason in `quarantine/`.
pub const REFUSED: &str = "its answer was refused: ";

/// Refuses the answer of a complete document in `answered/`, because of `why`. A document without an answer stays as it is. The
/// caller holds the workflow's lock and has settled the workflow.
///
/// # Errors
/// [`Error::Failed`] if the quarantine has no name left for the copy. [`Error::Io`] if the system refuses.
pub fn refuse(mailbox: &Mailbox, lock: &WorkflowLock, document: QuestionDocument, round: &RoundId, why: &WhyRefused) -> Result<()> {
    let path = mailbox.document(Folder::Answered, lock.workflow());
    let Some(answer) = document.typed.answer.clone() else { return Ok(()) };
    let entry = Entry::about_round("refused", round).answer(document.typed.hash().ok(), &answer).by(&answer.by);
    let bytes = disk::read(&path, <crate::Question as Stored>::LARGEST)?;
    let reason = format!("{REFUSED}{} ({})", why.0, text::one_line(&answer.said_by()));
    let kept = quarantine::keep_copy(mailbox, &path, &bytes, &reason)?;
    let kept = text::file_name(kept.file_name().unwrap_or_default());
    match undo::without_answer(mailbox, document, round, "askbox", Some(&why.0)) {
        Ok(_) => {}
        // The document is too long for pending/.
        Err(Error::Invalid { .. }) => {
            quarantine::quarantine(mailbox, &path, round.workflow.file_name(), &reason)?;
        }
        Err(e) => return Err(e),
    }
    audit::record(mailbox, entry.why(format!("{}; see quarantine/{kept}.reason", why.0)));
    tracing::warn!(event = "refused", workflow = %round.workflow, "an answer of {}: {}; see quarantine/{kept}.reason", round.workflow, why.0);
    Ok(())
}
