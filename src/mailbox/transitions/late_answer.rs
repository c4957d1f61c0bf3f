//! A late answer: it arrives after its round has ended unanswered. It is kept in the document's `late_answers` and shown; no
//! agent is launched for it.

use crate::disk;
use crate::error::{Error, Result};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::answer::{Answer, MAX_ANSWER};
use crate::mailbox::documents::question::{MAX_UNTIL_CLOSED, QuestionDocument};
use crate::mailbox::layout::Mailbox;
use crate::mailbox::read_question;
use crate::mailbox::round::Round;

/// The most late answers of a round.
pub const MAX_LATE: usize = 32;

/// The longest `late_answers`, in bytes of their JSON.
pub const MAX_LATE_BYTES: usize = 16 << 20;

/// Adds an answer to a round's `late_answers`. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Invalid`] if it is too long, or if the round keeps as many late answers as it may; nothing is changed then.
pub fn keep(mailbox: &Mailbox, round: &Round, reply: Answer) -> Result<()> {
    let path = round.path(mailbox);
    let mut document = read_question::document(&path)?;
    let entry = Entry::of("late_answer", &round.id).answer(document.typed.hash().ok(), &reply).by(&reply.by).why(reply.means());
    let length = reply.value.as_ref().map_or(0, |value| value.to_text().len());
    if length > MAX_ANSWER {
        return Err(full(format!("is {length} bytes long, the limit is {MAX_ANSWER}")));
    }
    if document.typed.late_answers.len() >= MAX_LATE {
        return Err(full(format!("holds {MAX_LATE} answers already")));
    }
    document.typed.late_answers.push(reply);
    document.update()?;
    let bytes = in_json(&document);
    if bytes > MAX_LATE_BYTES {
        return Err(full(format!("would take {bytes} bytes with your answer, the limit is {MAX_LATE_BYTES}")));
    }
    disk::replace(&path, &document.to_file_within(MAX_UNTIL_CLOSED)?)?;
    audit::record(mailbox, entry);
    Ok(())
}

fn in_json(document: &QuestionDocument) -> usize {
    document.field("late_answers").map_or(0, str::len)
}

fn full(problem: String) -> Error {
    Error::invalid("late_answers", problem, "put the text into a file, or tell the asker yourself")
}
