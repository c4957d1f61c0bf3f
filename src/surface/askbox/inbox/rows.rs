//! The list of questions that wait, and the filter.

use crate::error::Result;
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::{Mailbox, list};
use crate::surface::ask_answer::filter::{self, Looked};
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::text;

/// One question that waits. Its words are cut: ten thousand of them may wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub workflow: WorkflowId,
    /// The round; `None` for a question made by hand, and for a file that cannot be read.
    pub question: Option<QuestionId>,
    pub age: String,
    pub asked_by: String,
    pub project: String,
    pub headline: String,
    pub priority: i32,
    /// Whether it waits for an event, not for a person.
    pub is_event: bool,
    pub is_unreadable: bool,
}

/// The questions that wait, the urgent first.
pub fn all(mailbox: &Mailbox) -> Result<Vec<Row>> {
    list::pending(mailbox, |pending| row(&pending))
}

fn row(pending: &list::Pending) -> Row {
    let workflow = pending.workflow.clone();
    match &pending.document {
        Ok(document) => {
            let question = &document.typed;
            Row {
                workflow,
                question: question.question_id,
                age: question_text::age(question),
                asked_by: text::excerpt(question.asked_by.as_deref().unwrap_or("-"), 40),
                project: question.project(),
                headline: question_text::headline(question),
                priority: question.priority.unwrap_or(0),
                is_event: question.until.is_some(),
                is_unreadable: false,
            }
        }
        Err(e) => Row {
            workflow,
            question: None,
            age: "-".into(),
            asked_by: "-".into(),
            project: "-".into(),
            headline: format!("unreadable: {}", program::message(e)),
            priority: 0,
            is_event: false,
            is_unreadable: true,
        },
    }
}

/// Whether a row has all the words of a filter.
pub fn fits(row: &Row, filter: &str) -> bool {
    let Row { asked_by, project, headline, priority, .. } = row;
    filter::fits(Looked { id: row.workflow.as_str(), asked_by, project, headline, priority: *priority }, filter)
}
