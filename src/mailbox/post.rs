//! Posting: one durable file. The no-replace link into `pending/` decides every race.

use super::audit::{self, Entry};
use super::close;
use super::intake;
use super::layout::{Folder, Mailbox};
use super::question::{Closed, MAX_QUESTION, Question, QuestionDocument};
use super::{timers, validate};
use crate::disk::{self, Placed};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId};
use crate::time;

/// What to do when another question of the workflow is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfPending {
    /// Refuse.
    Conflict,
    /// Close it as superseded and post the new one.
    Supersede,
}

/// The proof that a question waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its round.
    pub round: RoundId,
    /// The same question was pending already; nothing was written.
    pub repeated: bool,
}

/// Posts a question. Once this returns, the question survives a power cut.
///
/// # Errors
/// [`Error::Invalid`] the question does not say what it must, [`Error::Conflict`] another one of the workflow is pending.
pub fn post(mailbox: &Mailbox, mut question: Question, if_pending: IfPending) -> Result<Receipt> {
    validate::question(&question)?;
    let round = RoundId { workflow: question.workflow_id.clone(), question: QuestionId::generate() };
    question.question_id = Some(round.question);
    question.schema_version = Some(crate::document::SCHEMA_VERSION);
    question.timestamp.get_or_insert_with(|| time::rfc3339(time::now()));
    intake::keep_checkpoint(mailbox, &question)?;
    let document: QuestionDocument = Document::new(question)?;
    let bytes = document.to_bytes();
    if bytes.len() as u64 > MAX_QUESTION {
        return Err(Error::invalid(
            "question",
            format!("makes a document of {} bytes, the limit is {MAX_QUESTION}", bytes.len()),
            "put the bulk into a file and name its path",
        ));
    }
    timers::arm(mailbox, &document.typed, &round)?;
    let path = mailbox.document(Folder::Pending, &round.workflow);
    if disk::create(&path, &bytes)? == Placed::Taken {
        let posted = post_beside(mailbox, &document.typed, &round, &bytes, if_pending);
        if !matches!(&posted, Ok(receipt) if !receipt.repeated) {
            timers::disarm(mailbox, &document.typed, &round);
        }
        return posted;
    }
    audit::record(mailbox, Entry::of("posted", &round).by(document.typed.asked_by.as_deref().unwrap_or_default()));
    Ok(Receipt { round, repeated: false })
}

/// The slow path: something lies in `pending/` already. Under the lock, so that a transition in progress is over.
fn post_beside(mailbox: &Mailbox, question: &Question, round: &RoundId, bytes: &[u8], if_pending: IfPending) -> Result<Receipt> {
    let lock = mailbox.lock(&round.workflow)?;
    intake::settle(mailbox, &lock)?;
    let path = mailbox.document(Folder::Pending, &round.workflow);
    if disk::create(&path, bytes)? == Placed::Taken {
        let earlier = intake::read_pending(mailbox, &round.workflow)?;
        if same(&earlier.typed, question) {
            return Ok(Receipt { round: intake::round_of(mailbox, &earlier.typed)?, repeated: true });
        }
        if if_pending == IfPending::Conflict {
            let title = crate::text::excerpt(&earlier.typed.title(), 60);
            return Err(Error::conflict(
                format!("{} already asks another question: {title}", round.workflow),
                format!("wait for its answer, replace it with --supersede, or withdraw it: ask-answer cancel {}", round.workflow),
            ));
        }
        close::from_pending(mailbox, &lock, earlier, Closed::Superseded, question.asked_by.as_deref().unwrap_or("asker"), None)?;
        if disk::create(&path, bytes)? == Placed::Taken {
            return Err(Error::conflict(
                format!("{} was given another question just now", round.workflow),
                "look at it first: ask-answer show",
            ));
        }
    }
    audit::record(mailbox, Entry::of("posted", round).by(question.asked_by.as_deref().unwrap_or_default()));
    Ok(Receipt { round: round.clone(), repeated: false })
}

/// The same question again: what the human reads and what the agent resumes from are equal.
fn same(a: &Question, b: &Question) -> bool {
    let content =
        |q: &Question| (q.question.clone(), q.kind, q.options.clone(), q.questions.clone(), q.checkpoint.clone(), q.context.clone());
    content(a) == content(b)
}
