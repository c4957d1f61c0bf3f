//! Late answers. A late answer arrives after its round has ended unanswered. It is kept in the document's `late_answers` and shown,
//! but no agent is launched for it.

use crate::audit::{self, Entry};
use crate::disk;
use crate::documents::answer::{Answer, MAX_ANSWER};
use crate::documents::question::{MAX_UNTIL_CLOSED, QuestionDocument};
use crate::error::{Error, Result};
use crate::layout::{Folder, Mailbox};
use crate::listing::closings;
use crate::read_question;
use crate::round::Round;

/// The largest number of late answers that a round keeps.
pub const MAX_LATE: usize = 32;

/// The longest `late_answers`, in bytes of its JSON.
pub const MAX_LATE_BYTES: usize = 16 << 20;

/// Adds an answer to a round's `late_answers`. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Invalid`] if the answer is too long, or if the round already keeps [`MAX_LATE`] late answers or [`MAX_LATE_BYTES`] of
/// them. [`Error::Io`] if the system refuses. Nothing is changed then.
pub fn keep(mailbox: &Mailbox, round: &Round, reply: Answer) -> Result<()> {
    let path = round.path(mailbox);
    let mut document = read_question::document(&path)?;
    let entry = Entry::about_round("late_answer", &round.id).answer(document.typed.hash().ok(), &reply).by(&reply.by).why(reply.means());
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
    let file = document.to_file_within(MAX_UNTIL_CLOSED)?;
    match round.folder {
        Folder::Closed => closings::changing(mailbox, &round.id, || disk::replace(&path, &file))?,
        _ => disk::replace(&path, &file)?,
    }
    audit::record(mailbox, entry);
    Ok(())
}

fn in_json(document: &QuestionDocument) -> usize {
    document.field("late_answers").map_or(0, str::len)
}

fn full(problem: String) -> Error {
    Error::invalid("late_answers", problem, "put the text into a file, or tell the asker yourself")
}
