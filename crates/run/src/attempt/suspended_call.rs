//! A tool call that asks a person and waits in the agent's session for the answer: Claude Code's AskUserQuestion, deferred by
//! `askbox hook`.
//!
//! 1. The hook posts the question with the id of the call (`tool_call`), and defers the call. The turn ends, the attempt is *asking*,
//!    and its round is closed, because the agent has whatever the round was to bring.
//! 2. The question is a round like every other one. When its answer is claimed, the session is forked **without a message**: Claude
//!    Code makes the suspended call once more, and the hook gives it the answer.
//! 3. The hook notes that the answer went out. A later attempt then only tells the session to continue, and does not give it the answer
//!    again.
//!
//! A call that is stopped only by the agent program's own rules is not suspended: the supervisor holds it, and then ends the turn. Its
//! session is told that the call was decided about, and makes it again.
//!
//! If the session no longer waits with that call, the answer goes into a message, like every other answer.

use crate::attempt::record::{self, Run, RunState};
use askbox_agent::claude;
use askbox_agent::transcript::{self, SuspendedCall};
use askbox_mailbox::{
    Folder, Mailbox, Question, QuestionDocument, QuestionId, Result, RoundId, WorkflowId, disk, list, read_question, round,
};

/// The first thing that an attempt's session is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing: the session waits with a call, which it makes once more.
    Nothing,
    /// To continue, because its call has the answer.
    ToContinue,
    /// The round's message.
    TheMessage,
}

/// Decides what the session is told first. `continued` is the session that the attempt resumes or forks, if it does.
pub fn told(mailbox: &Mailbox, question: &Question, run: &Run, continued: Option<&str>) -> Told {
    let Some(session) = continued else { return Told::TheMessage };
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let file = dir.and_then(|d| transcript::find(&d, session)).and_then(|t| std::fs::File::open(t).ok());
    let suspended = file.map(transcript::suspended_call).unwrap_or_default();
    let is_this_one = |id: &String| question.tool_call.as_ref().is_some_and(|call| call.id == *id);
    // The agent asked in an earlier attempt of this round, and the supervisor died before it saw the question.
    let is_asked_now =
        |id: &String| open_question(mailbox, &run.workflow_id, |q| q.tool_call.as_ref().is_some_and(|call| call.id == *id)).is_some();
    match suspended {
        SuspendedCall::Waits(id) if !was_refused(mailbox, run) && (is_this_one(&id) || is_asked_now(&id)) => Told::Nothing,
        // The model does not read the result that the hook gave to the call. A session that has the message drops its repetition.
        SuspendedCall::ResultIsLost => Told::TheMessage,
        _ if question.tool_call.is_some() && is_handed_over(mailbox, run) => Told::ToContinue,
        _ => Told::TheMessage,
    }
}

/// The question that this call asked in the session of `run`, whatever has become of it since: it may be answered, and its answer claimed,
/// while another call of the same message works on.
pub fn question_of(mailbox: &Mailbox, run: &Run, call: &str) -> Option<QuestionId> {
    question_anywhere(mailbox, run, |q| q.tool_call.as_ref().is_some_and(|c| c.id == call))
}

/// The newest question that a call in this attempt's session asked, whatever has become of it since.
pub fn question_of_session(mailbox: &Mailbox, run: &Run) -> Option<QuestionId> {
    question_anywhere(mailbox, run, |q| q.tool_call.is_some() && q.session_id == Some(run.session_id))
}

/// True if the records prove that an agent of the workflow asked this question: an attempt ended to wait for it, or the session of an
/// attempt asked it and the end of that attempt is not on record yet. What the question says about itself proves nothing: anybody who
/// can write to `pending/` can name any call.
pub fn is_on_record(mailbox: &Mailbox, question: &Question) -> Result<bool> {
    let Some(id) = question.question_id else { return Ok(false) };
    for round in list::newest_rounds_of(mailbox, &question.workflow_id).into_iter().take(list::SEARCHED) {
        for attempt in record::attempts(mailbox, &round)?.into_iter().rev() {
            let waits = |run: Run| match run.state {
                RunState::Asking => run.asks == Some(id),
                RunState::Running => question.session_id == Some(run.session_id),
                _ => false,
            };
            if record::read(mailbox, &round, attempt).is_ok_and(waits) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The question that the supervisor of this attempt held its agent for. It is about a call that is not suspended, or from an MCP
/// server. Its answer may be claimed already.
pub fn held_in_session(mailbox: &Mailbox, run: &Run) -> Option<QuestionId> {
    let is_it = |q: &Question| (q.approval.is_some() || q.elicited_by.is_some()) && q.session_id == Some(run.session_id);
    open_question(mailbox, &run.workflow_id, is_it).or_else(|| {
        let others = list::round_names(mailbox, Folder::Running).filter(|r| r.workflow == run.workflow_id && r.question != run.question_id);
        let mut held =
            others.filter(|round| read_question::document(&mailbox.round(Folder::Running, round)).is_ok_and(|d| is_it(&d.typed)));
        held.next().map(|round| round.question)
    })
}

/// The question of another round of the run's workflow. The folders are looked at in the order of a question's moves.
fn question_anywhere(mailbox: &Mailbox, run: &Run, is_it: impl Fn(&Question) -> bool) -> Option<QuestionId> {
    open_question(mailbox, &run.workflow_id, &is_it).or_else(|| {
        let mut rounds = later_rounds(mailbox, run, &[Folder::Running, Folder::Parked, Folder::Closed]);
        rounds.find_map(|(round, question)| is_it(&question).then_some(round.question))
    })
}

/// The rounds of the run's workflow that lie in these folders, but for the run's own: the newest ones first, and not all of a long
/// history.
pub(crate) fn later_rounds(mailbox: &Mailbox, run: &Run, folders: &'static [Folder]) -> impl Iterator<Item = (RoundId, Question)> {
    let rounds = list::newest_rounds_of(mailbox, &run.workflow_id).into_iter().filter(|round| round.question != run.question_id);
    rounds.take(list::SEARCHED).flat_map(move |round| {
        folders.iter().filter_map(move |folder| {
            let document = read_question::of_round(&mailbox.round(*folder, &round), &round).ok()?;
            Some((round.clone(), document.typed))
        })
    })
}

/// The question that lies in `pending/` or `answered/`, if it is this one.
fn open_question(mailbox: &Mailbox, workflow: &WorkflowId, is_it: impl Fn(&Question) -> bool) -> Option<QuestionId> {
    let answered = || read_question::document(&mailbox.document(Folder::Answered, workflow)).ok();
    let fits = |document: QuestionDocument| is_it(&document.typed).then(|| round::of_pending(mailbox, &document.typed).ok()).flatten();
    let pending = read_question::pending(mailbox, workflow).ok().and_then(fits);
    pending.or_else(|| answered().and_then(fits)).map(|round| round.question)
}

/// Notes that the call got its answer in this attempt.
pub fn note_handed_over(mailbox: &Mailbox, run: &Run) -> Result<()> {
    disk::touch(&mark(mailbox, run))
}

/// Whether the call got its answer in this attempt.
pub fn is_handed_over_in(mailbox: &Mailbox, run: &Run) -> bool {
    disk::exists(mark(mailbox, run))
}

/// Whether the call got its answer in this attempt or an earlier one of the round.
pub fn is_handed_over(mailbox: &Mailbox, run: &Run) -> bool {
    (1..=run.attempt).any(|attempt| disk::exists(mark(mailbox, &Run { attempt, ..run.clone() })))
}

fn mark(mailbox: &Mailbox, run: &Run) -> std::path::PathBuf {
    run.folder(mailbox).join("handed_over")
}

/// True if Claude Code refused to continue the session without a message in the attempt before.
fn was_refused(mailbox: &Mailbox, run: &Run) -> bool {
    let before = run.attempt.checked_sub(1).filter(|n| *n > 0).and_then(|n| record::read(mailbox, &run.round(), n).ok());
    before.and_then(|run| run.why).is_some_and(|why| why.contains("No deferred tool marker"))
}
