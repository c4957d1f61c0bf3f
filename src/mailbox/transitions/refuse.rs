//! The transition `answered/` → `pending/` of an answer that does not count: the operator does not trust it (see
//! [`trust`](crate::mailbox::trust)).
//!
//! Under the workflow's lock:
//! 1. keep a copy of the document in `quarantine/`, with the reason beside it;
//! 2. the rest is that of [`super::undo`]: replace `answered/WORKFLOW.json` by the question without its answer, with `taken_back`: **the commit
//!    point**; take the answer out of the checkpoints; move the file to `pending/`, and make its timers.
//!
//! If the program dies before step 2, the next claimant refuses the answer again; the copy is there already. So the question waits for an
//! answer that counts, and nothing of the other one is lost.

use crate::document::Stored;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::QuestionDocument;
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::quarantine;
use crate::mailbox::transitions::undo;
use crate::mailbox::trust::policy::Untrusted;
use crate::{disk, text};

/// How the reason in `quarantine/` begins.
pub const REFUSED: &str = "its answer was refused: ";

/// Refuses the answer of the document in `answered/`, which is complete. The caller holds the workflow's lock and has settled the workflow.
pub fn refuse(mailbox: &Mailbox, lock: &WorkflowLock, document: QuestionDocument, round: &RoundId, why: &Untrusted) -> Result<()> {
    let path = mailbox.document(Folder::Answered, lock.workflow());
    let Some(answer) = document.typed.answer.clone() else { return Ok(()) };
    let entry = Entry::of("refused", round).answer(document.typed.hash().ok(), &answer).by(&answer.by);
    let bytes = disk::read(&path, <crate::mailbox::Question as Stored>::LARGEST)?;
    let reason = format!("{REFUSED}{} ({})", why.0, text::one_line(&answer.said_by()));
    let kept = quarantine::keep_copy(mailbox, &path, &bytes, &reason)?;
    let kept = text::file_name(kept.file_name().unwrap_or_default());
    match undo::without_answer(mailbox, document, round, "askbox", Some(&why.0)) {
        Ok(_) => {}
        // pending/ takes no document of that length.
        Err(Error::Invalid { .. }) => {
            quarantine::quarantine(mailbox, &path, round.workflow.file_name(), &reason)?;
        }
        Err(e) => return Err(e),
    }
    audit::record(mailbox, entry.why(format!("{}; see quarantine/{kept}.reason", why.0)));
    #[cfg(feature = "relaunch")]
    tracing::warn!(event = "refused", workflow = %round.workflow, "an answer of {}: {}; see quarantine/{kept}.reason", round.workflow, why.0);
    Ok(())
}
