//! The transitions of this machine's mailbox.

use crate::disk;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::shown::is_same;
use crate::mailbox::round::Round;
use crate::mailbox::transitions::accept::{self, Decision, On};
use crate::mailbox::transitions::undo;
use crate::mailbox::who::caller::Caller;
use crate::mailbox::{Answer, Folder, Mailbox, read_question, round};
use crate::surface::ask_answer::{answering, question_text};
use crate::surface::askbox::inbox::sender::shown::{RoundAt, Shown};
use crate::surface::askbox::inbox::sender::{Seen, Sent};
use crate::surface::program;

pub(super) fn send(mailbox: &Mailbox, person: &Caller, shown: &Shown, answer: Answer) -> Result<Sent> {
    // Words that are close to an option were asked back already.
    let decision = Decision::of(person, On::question(&shown.round.id, shown.question())?).in_own_words();
    let accepted = accept::answer(mailbox, &shown.round.id.workflow, decision, answer)?;
    let words = match accepted.answer.value {
        Some(_) => answering::acknowledged(&accepted),
        None => accepted.answer.word().into(),
    };
    Ok(Sent { at: RoundAt::here(accepted.round), words, warning: accepted.warning, offer: None })
}

pub(super) fn undo(mailbox: &Mailbox, person: &Caller, round: &RoundId) -> Result<String> {
    undo::undo(mailbox, &round.workflow, Some(round.question), person.by()).map(|undone| undone.answer)
}

/// Whether no run has claimed the answer of a workflow.
pub(super) fn is_unclaimed(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    disk::exists(mailbox.document(Folder::Answered, workflow))
}

pub(super) fn look<T>(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    look: impl FnOnce(std::result::Result<Seen<'_>, String>) -> T,
) -> Option<T> {
    match read_question::pending(mailbox, workflow) {
        Err(e) if e.is_missing_file() => None,
        Ok(document) => Some(look(Ok(Seen { id: document.typed.question_id, question: &document.typed }))),
        Err(e) => Some(look(Err(program::message(&e)))),
    }
}

/// The question of a workflow as it waits now.
pub(super) fn pending(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Round> {
    let document = read_question::pending(mailbox, workflow)?;
    let id = round::of_pending(mailbox, &document.typed)?;
    Ok(Round { folder: Folder::Pending, id, document })
}

/// Whether a question still waits as it was shown. `Err` says what became of it.
pub(super) fn still_waits(mailbox: &Mailbox, shown: &Shown) -> std::result::Result<(), String> {
    let RoundId { workflow, .. } = &shown.round.id;
    match pending(mailbox, workflow) {
        Ok(now) if now.id != shown.round.id => Err(format!("{workflow} asks another question by now")),
        Ok(now) if !is_same(&now.document.typed, shown.question()) => Err(format!("{workflow} was changed while you read it")),
        Ok(_) => Ok(()),
        Err(e) if e.is_missing_file() => Err(fate(mailbox, workflow)),
        Err(e) => Err(program::message(&disk::explain_missing(e))),
    }
}

/// What became of a workflow's last question.
pub(super) fn fate(mailbox: &Mailbox, workflow: &WorkflowId) -> String {
    match answering::question(mailbox, workflow) {
        // It was asked since.
        Ok(found) if found.folder == Folder::Pending => format!("{workflow} asks another question by now"),
        Ok(found) => {
            let who = found.document.typed.answer.as_ref().map_or(String::new(), |answer| format!(" ({})", answer.who()));
            format!("{workflow}: {}{who}", question_text::state(&found))
        }
        Err(e) => program::message(&e),
    }
}
