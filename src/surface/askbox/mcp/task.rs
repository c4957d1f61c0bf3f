//! Tasks (SEP-2663): the question of a client that polls, such as an interactive Claude Code. The task's id is the round's, `WORKFLOW.QUESTION`,
//! and its state is the mailbox, so that any later server process knows it.

use rmcp::model::{CallToolResult, ContentBlock, CreateTaskResult, DetailedTask, Task, TaskPayload, TaskStatus};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::{Mailbox, Question};
use crate::run::delivery::Delivery;
use crate::surface::askbox::mcp::ask_user;
use crate::surface::askbox::mcp::became::{self, Became};
use crate::surface::askbox::mcp::desk::Desk;
use crate::surface::askbox::mcp::receipts::Taken;
use crate::{text, time};

/// How often a client looks.
const POLL_MS: u64 = 2000;

/// `ask_user`: posts the question; the task is what the client polls.
pub(super) fn ask(desk: &Desk, arguments: &Map<String, Value>) -> Result<CreateTaskResult> {
    let (mailbox, asked) = ask_user::ask_for_a_task(desk, arguments)?;
    match became::of(desk, &mailbox, &asked, false)? {
        Some(Became::Waits(question) | Became::Answered(question)) => {
            Ok(CreateTaskResult::new(task(&asked, &question, TaskStatus::Working)))
        }
        _ => {
            Err(Error::conflict(format!("the question of {} was closed just now", asked.workflow), "look what became of it: check_answer"))
        }
    }
}

/// `tasks/get`: what became of the question. With it, the answer that the reply carries, if this process took it now.
pub(super) fn look(desk: &Desk, id: &str) -> Result<(DetailedTask, Option<Taken>)> {
    let (mailbox, asked, became) = look_for(desk, id)?;
    let is_ours = |question: &Question| !desk.asked_something_else(&asked, question);
    let became = match became {
        Became::Answered(question) | Became::Over(question, _)
            if Delivery::asked_for(&question) == Delivery::Session && is_ours(&question) =>
        {
            became::of(desk, &mailbox, &asked, true)?.ok_or_else(|| unknown(&asked))?
        }
        other => other,
    };
    let working = |question: &Question| DetailedTask::new(task(&asked, question, TaskStatus::Working), TaskPayload::Working);
    let said = |question: &Question, words: String| {
        let result = CallToolResult::success(vec![ContentBlock::text(words)]);
        let result = serde_json::to_value(result).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
        DetailedTask::new(task(&asked, question, TaskStatus::Completed), TaskPayload::Completed { result })
    };
    let words = became.words(desk, &mailbox, &asked)?;
    Ok(match became {
        Became::Answered(question) | Became::Over(question, _) if !is_ours(&question) => {
            (said(&question, ask_user::changed(&asked.workflow)), None)
        }
        Became::Waits(question) | Became::Answered(question) => (working(&question), None),
        Became::Over(question, _) => (said(&question, words), None),
        Became::Taken(claim) => (said(&claim.document.typed, words), Some(Taken { mailbox, claim })),
    })
}

/// `tasks/cancel`: the question stays open. Claude Code cancels the tasks of a session whose user leaves it for the night, and the person who
/// answers need not be that user. Whoever wants no answer any more withdraws the question: `ask-answer cancel`.
pub(super) fn cancel(desk: &Desk, id: &str) -> Result<()> {
    look_for(desk, id).map(drop)
}

fn look_for(desk: &Desk, id: &str) -> Result<(Mailbox, RoundId, Became)> {
    let (mailbox, asked) = (desk.mailbox()?, round_of(id)?);
    let became = became::of(desk, &mailbox, &asked, false)?.ok_or_else(|| unknown(&asked))?;
    Ok((mailbox, asked, became))
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
