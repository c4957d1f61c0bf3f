//! Reads and changes this machine's mailbox.

use crate::sender::{Seen, Sender, Sent, ShownQuestion};
use askbox_cli::ask_answer::answering;
use askbox_cli::{person, program};
use askbox_mailbox::address::RoundAt;
use askbox_mailbox::documents::shown::is_same;
use askbox_mailbox::round::Round;
use askbox_mailbox::transitions::accept::{self, Decision, On};
use askbox_mailbox::transitions::{settle, undo};
use askbox_mailbox::{Answer, Caller, Folder, Mailbox, Result, RoundId, WorkflowId, disk, read_question, round};
use askbox_run::asking::end::End;
use askbox_run::asking::orphans;
use askbox_run::story;

pub(super) fn send(sender: Sender<'_>, shown: &ShownQuestion, answer: Answer) -> Result<Sent> {
    let Sender { mailbox, context, person: caller, .. } = sender;
    // The person has already been asked about words that are close to an option.
    let decision = Decision::by(caller, On::question(&shown.round.id, shown.question())?).in_own_words();
    orphans::end_waiting(mailbox, &shown.round.id.workflow)?;
    let accepted = accept::answer(mailbox, &shown.round.id.workflow, decision, answer)?;
    let words = answering::acknowledged(&accepted.question, &accepted.answer);
    // The operator may have changed the configuration since the inbox was opened.
    context.reload();
    let hold_up = person::hold_up(context, mailbox, &accepted.question);
    let end = accepted.question.live.is_some().then_some(End::NotKnownYet);
    Ok(Sent { at: RoundAt::here(accepted.round), words, hold_up, warning: accepted.warning, offer: None, end })
}

pub(super) fn undo(mailbox: &Mailbox, person: &Caller, round: &RoundId) -> Result<String> {
    undo::undo(mailbox, &round.workflow, Some(round.question), person.by()).map(|undone| undone.answer)
}

/// The end of an answer to a session's dialog.
pub(super) fn end(mailbox: &Mailbox, round: &RoundId) -> End {
    read_question::document(&mailbox.round(Folder::Closed, round)).map_or(End::NotKnownYet, |document| End::of(&document.typed))
}

/// The answer of a round that no run has claimed.
pub(super) fn unclaimed(mailbox: &Mailbox, round: &RoundId) -> Option<Answer> {
    let question = read_question::answered(mailbox, &round.workflow).ok()?.typed;
    question.answer.filter(|_| question.question_id == Some(round.question))
}

/// True if a person gave the answer of a round, no run has claimed it, and its workflow has not asked its next question.
pub fn may_be_taken_back(mailbox: &Mailbox, round: &RoundId) -> bool {
    let asks_again = || disk::exists(mailbox.document(Folder::Pending, &round.workflow));
    unclaimed(mailbox, round).is_some_and(|answer| answer.is_a_persons()) && !asks_again()
}

pub(super) fn look<T>(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    look: impl FnOnce(std::result::Result<Seen<'_>, String>) -> T,
) -> Option<T> {
    match settle::waiting(mailbox, workflow) {
        Err(e) if e.is_missing_file() => None,
        Ok(document) => Some(look(Ok(Seen { id: document.typed.question_id, question: &document.typed }))),
        Err(e) => Some(look(Err(program::message(&e)))),
    }
}

/// The waiting question of a workflow.
pub(super) fn pending(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Round> {
    let document = settle::waiting(mailbox, workflow)?;
    let id = round::of_pending(mailbox, &document.typed)?;
    Ok(Round { folder: Folder::Pending, id, document })
}

/// Checks that a question still waits in the form that was shown. `Err` says how it ended.
pub(super) fn still_waits(mailbox: &Mailbox, shown: &ShownQuestion) -> std::result::Result<(), String> {
    let RoundId { workflow, .. } = &shown.round.id;
    match pending(mailbox, workflow) {
        Ok(now) if now.id != shown.round.id => Err(format!("{workflow} asks another question by now")),
        Ok(now) if !is_same(&now.document.typed, shown.question()) => Err(format!("{workflow} was changed while you read it")),
        Ok(_) => Ok(()),
        Err(e) if e.is_missing_file() => Err(fate(mailbox, workflow)),
        Err(e) => Err(program::message(&disk::explain_missing(e))),
    }
}

/// Says how a workflow's last question ended.
pub(super) fn fate(mailbox: &Mailbox, workflow: &WorkflowId) -> String {
    match answering::question(mailbox, workflow) {
        // This question was asked afterwards.
        Ok(found) if found.folder == Folder::Pending => format!("{workflow} asks another question by now"),
        Ok(found) => {
            let who = found.document.typed.answer.as_ref().map_or(String::new(), |answer| format!(" ({})", answer.who_with_what()));
            format!("{workflow}: {}{who}", story::in_words(&found))
        }
        Err(e) => program::message(&e),
    }
}
