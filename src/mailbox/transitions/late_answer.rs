//! A late answer: it arrives after its round has ended unanswered. It is kept in the document's `late_answers` and shown; no
//! agent is launched for it.

use crate::disk;
use crate::error::Result;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::answer::Answer;
use crate::mailbox::layout::Mailbox;
use crate::mailbox::read_question;
use crate::mailbox::round::Round;

/// Adds an answer to a round's `late_answers`. The caller holds the workflow's lock.
pub fn keep(mailbox: &Mailbox, round: &Round, reply: Answer) -> Result<()> {
    let path = round.path(mailbox);
    let mut document = read_question::document(&path)?;
    let entry = Entry::of("late_answer", &round.id).by(&reply.by).why(&reply.channel);
    document.typed.late_answers.push(reply);
    document.update()?;
    disk::replace(&path, &document.to_bytes())?;
    audit::record(mailbox, entry);
    Ok(())
}
