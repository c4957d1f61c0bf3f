//! Tasks (SEP-2663): the question of a client that polls, such as an interactive Claude Code. The task's id is the id of the round,
//! `WORKFLOW.QUESTION`, and its state is read from the mailbox, so that any later server process knows the task.

use rmcp::model::{CallToolResult, ContentBlock, CreateTaskResult, DetailedTask, InputResponses, Task, TaskPayload, TaskStatus};
use serde_json::{Map, Value};

use crate::desk::Desk;
use crate::question_state::{self, QuestionState};
use crate::receipts::Taken;
use crate::{ask_user, form, other_tools};
use askbox_mailbox::{Error, Mailbox, Question, Result, RoundId, text, time};
use askbox_run::claim::heard;
use askbox_run::delivery::Delivery;

/// The requests about a task.
pub(super) const METHODS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];

/// The time between two looks of a client, in milliseconds.
const POLL_MS: u64 = 2000;

/// `ask_user`: posts the question, and returns a task for the client to poll.
pub(super) fn ask(desk: &Desk, arguments: &Map<String, Value>) -> Result<CreateTaskResult> {
    let (mailbox, asked) = ask_user::ask_for_a_task(desk, arguments)?;
    match question_state::find(desk, &mailbox, &asked, false)? {
        Some(QuestionState::Waits(question) | QuestionState::Answered(question) | QuestionState::OnItsWay(question, _)) => {
            Ok(CreateTaskResult::new(task(&asked, &question, TaskStatus::Working)))
        }
        _ => {
            Err(Error::conflict(format!("the question of {} was closed just now", asked.workflow), "look what became of it: check_answer"))
        }
    }
}

/// `tasks/get`: the state of the question, with its form if the client shows forms and its user may answer. If this process took the answer now, also returns that answer, which the reply carries.
pub(super) fn look(desk: &Desk, id: &str, shows_forms: bool) -> Result<(DetailedTask, Option<Taken>)> {
    let (mailbox, asked, state) = look_for(desk, id)?;
    let is_ours = |question: &Question| !desk.asked_something_else(&asked, question);
    let is_to_take = match &state {
        QuestionState::Answered(question) => Some(question),
        // Its agent has ended, and may not have heard it. As long as the agent lives, it is told the same again.
        QuestionState::OnItsWay(question, run) => Some(question).filter(|_| !heard::lives(&mailbox, run)),
        QuestionState::Waits(_) | QuestionState::Taken(_) | QuestionState::Over(..) => None,
    }
    .is_some_and(|question| Delivery::asked_for(question) == Delivery::Session && is_ours(question));
    let taken = if is_to_take { question_state::find(desk, &mailbox, &asked, true)?.ok_or_else(|| unknown(&asked))? } else { state };
    let state = taken.told_to_asker();
    let working = |question: &Question| DetailedTask::new(task(&asked, question, TaskStatus::Working), TaskPayload::Working);
    let said = |question: &Question, words: String| {
        let result = CallToolResult::success(vec![ContentBlock::text(words)]);
        let result = serde_json::to_value(result).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
        DetailedTask::new(task(&asked, question, TaskStatus::Completed), TaskPayload::Completed { result })
    };
    let words = state.words(desk, &mailbox, &asked)?;
    Ok(match state {
        QuestionState::Answered(question) | QuestionState::Over(question, _) if !is_ours(&question) => {
            (said(&question, ask_user::changed(&asked.workflow)), None)
        }
        QuestionState::Waits(question) if shows_forms && desk.config.answer && !desk.known().in_vain.contains(&asked) => {
            let task = task(&asked, &question, TaskStatus::InputRequired);
            match form::of(&question, asked.question) {
                Some(input_requests) => (DetailedTask::new(task, TaskPayload::InputRequired { input_requests }), None),
                None => (working(&question), None),
            }
        }
        QuestionState::Waits(question) | QuestionState::Answered(question) => (working(&question), None),
        QuestionState::Over(question, _) | QuestionState::OnItsWay(question, _) => (said(&question, words), None),
        QuestionState::Taken(claim) => (said(&claim.document.typed, words), Some(Taken { mailbox, claim })),
    })
}

/// `tasks/update`: the reply of the client's user to the form. If the user gives no answer, the form is not shown again, and the question waits
/// for somebody else.
pub(super) fn answer(desk: &Desk, id: &str, responses: &InputResponses, by: String) -> Result<()> {
    let (mailbox, asked, state) = look_for(desk, id)?;
    let value = match &state {
        QuestionState::Waits(question) => form::answer(question, asked.question, responses),
        _ => return Err(other_tools::nothing_pending(&mailbox, &asked.workflow)),
    };
    match value {
        Some(_) if !desk.config.answer => {
            Err(Error::conflict("this client may not answer", "the operator permits it: [mcp] answer = true in the configuration"))
        }
        Some(value) => other_tools::answer(desk, &asked.workflow, Some(asked.question), value, by).map(drop),
        None => {
            desk.note_shown_in_vain(&asked);
            Ok(())
        }
    }
}

/// `tasks/cancel`: the question stays open. Claude Code cancels the tasks of a session when its user leaves it for the night, and the
/// person who answers may be somebody else. An asker that no longer wants an answer withdraws the question with `ask-answer cancel`.
pub(super) fn cancel(desk: &Desk, id: &str) -> Result<()> {
    look_for(desk, id).map(drop)
}

fn look_for(desk: &Desk, id: &str) -> Result<(Mailbox, RoundId, QuestionState)> {
    let (mailbox, asked) = (desk.mailbox()?, round_of(id)?);
    let state = question_state::find(desk, &mailbox, &asked, false)?.ok_or_else(|| unknown(&asked))?;
    Ok((mailbox, asked, state))
}

fn unknown(asked: &RoundId) -> Error {
    Error::not_found(format!("there is no question {asked}"), "it was pruned, or it lies in another mailbox")
}

fn round_of(id: &str) -> Result<RoundId> {
    let wrong = || {
        Error::invalid("taskId", format!("`{}` is no task of this server", text::excerpt(id, 80)), "give the taskId that ask_user returned")
    };
    RoundId::from_file_name(&format!("{id}.json")).ok_or_else(wrong)
}

fn task(asked: &RoundId, question: &Question, status: TaskStatus) -> Task {
    let created = question.asked_at().unwrap_or_else(time::now);
    let updated = question.closed.as_ref().map(|closed| closed.at).or_else(|| question.answer.as_ref().and_then(|answer| answer.at));
    let words = match status {
        TaskStatus::Completed => format!("{} is over", asked.workflow),
        _ => format!("{} waits for the user: ask-answer {}", asked.workflow, asked.workflow),
    };
    let at = |time| time::rfc3339(time);
    Task::new(asked.to_string(), status, at(created), at(updated.unwrap_or(created)))
        .with_status_message(words)
        .with_poll_interval_ms(POLL_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_its_round_and_nothing_else_is_a_name() {
        let id = "docs.v2-1.01920000-0000-7000-8000-000000000000";
        assert_eq!(round_of(id).unwrap().to_string(), id);
        for wrong in ["", ".", "x", "../x.01920000-0000-7000-8000-000000000000", "w.01920000", &"x".repeat(1 << 20)] {
            assert!(round_of(wrong).unwrap_err().to_string().len() < 300);
        }
    }
}
