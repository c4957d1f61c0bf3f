//! The errors for an answer that comes too late. They say who answered first, and if the answer is kept all the same.
//!
//! Late answers. A late answer arrives after its round has ended unanswered. It is kept in the document's `late_answers` and shown,
//! but no agent is launched for it.

use crate::audit::{self, Entry};
use crate::documents::answer::{BY_EVENT, MAX_ANSWER};
use crate::documents::question::MAX_UNTIL_CLOSED;
use crate::listing::closings;
use crate::{Answer, Caller, Error, Folder, Mailbox, QuestionId, Result, Round, RoundId, WorkflowId, disk, list, read_question, round};

/// Returns the error for an answer while an earlier one of the same workflow still waits for its run.
pub(super) fn earlier_answer_waits(mailbox: &Mailbox, round: &RoundId) -> Error {
    let workflow = &round.workflow;
    let earlier = read_question::document(&mailbox.document(Folder::Answered, workflow));
    let who = earlier.ok().and_then(|d| d.typed.answer).map_or_else(|| "answered".into(), |a| a.who());
    Error::conflict(
        format!("an earlier answer of {workflow} ({who}) still waits for its run; the question of round {} stays open", round.question),
        (
            "start the watcher or run it now",
            format!("relaunch watch, or relaunch {workflow}; if a process of yours has it: relaunch done {workflow}"),
        ),
    )
}

/// Returns the error for an answer when no question is pending. It says who answered first. A late answer is kept.
pub(super) fn nothing_pending(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    caller: &Caller,
    expected: Option<QuestionId>,
    reply: Answer,
) -> Error {
    let Some(last) = round::latest(mailbox, workflow) else { return list::never_asked(mailbox, workflow) };
    let first = last.document.typed.answer.as_ref();
    let hint = ("look at it", format!("ask-answer show {workflow}"));
    if let Some(first) = first.filter(|a| a.is_a_persons()) {
        return Error::conflict(format!("the question of {workflow} was already {}", first.who_with_what()), hint);
    }
    if !last.document.typed.content().asks_a_person() {
        return Error::conflict(
            format!("{workflow} asks nothing: its last round is a task, or tells it how others ended; your answer is not kept"),
            ("look how it goes", format!("relaunch status {workflow}")),
        );
    }
    if let Err(e) = caller.may_decide(&last.document.typed) {
        return e;
    }
    if let Some(expected) = expected.filter(|expected| *expected != last.id.question) {
        return Error::conflict(
            format!("round {expected} of {workflow} is not its last one ({}); your answer is not kept", last.id.question),
            hint,
        );
    }
    // Keeping a late answer would change the file's time. The watcher needs that time to recognize an answer made by hand.
    if last.folder == Folder::Answered && first.is_none() {
        return Error::conflict(format!("the question of {workflow} was answered by hand, in its checkpoint"), hint);
    }
    // Its run may read the document at any moment, and must not find an answer that was not decided on.
    if first.is_none() && matches!(last.folder, Folder::Running | Folder::Parked) {
        return Error::conflict(format!("a run has the question of {workflow}, and its file holds no answer; yours is not kept"), hint);
    }
    // No person had answered when the round ended. So this answer is late, and not a second one.
    let ended = last.document.typed.closed.as_ref().map_or("was over", |c| c.state.in_a_sentence());
    // A dialog ends without its question at any time. The person reads how.
    let how = last.document.typed.closed.as_ref().and_then(|closed| closed.why.as_deref());
    let how = how.filter(|_| last.document.typed.live.is_some()).map_or_else(String::new, |how| format!(" ({how})"));
    let ended = match first {
        Some(first) if first.by == BY_EVENT => "was answered by the event that it waited for",
        Some(_) => "was answered by the asker's default",
        None => ended,
    };
    let kept = match keep(mailbox, &last, reply) {
        Ok(()) => "your answer is kept with it and nothing is run".to_owned(),
        Err(e) => format!("your answer could not be kept with it: {e}"),
    };
    Error::conflict(format!("the question of {workflow} {ended}{how} before you answered; {kept}"), hint)
}

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
    let bytes = document.field("late_answers").map_or(0, str::len);
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

fn full(problem: String) -> Error {
    Error::invalid("late_answers", problem, "put the text into a file, or tell the asker yourself")
}
