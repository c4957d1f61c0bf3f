//! One question of the list.

use std::cmp::Reverse;

use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::{Mailbox, read_question};
use crate::surface::ask_answer::filter::{self, Looked};
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::text;
use crate::time::Time;

/// One question that waits. Its words are cut: ten thousand of them may wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub workflow: WorkflowId,
    /// The round; `None` for a question made by hand, and for a file that cannot be read.
    pub question: Option<QuestionId>,
    pub asked: Option<Time>,
    /// When its time is over.
    pub expires: Option<Time>,
    pub asked_by: String,
    pub project: String,
    pub headline: String,
    pub priority: i32,
    /// Whether it waits for an event, not for a person.
    pub is_event: bool,
    pub is_approval: bool,
    pub is_unreadable: bool,
}

/// The place of a row in the list: the urgent first, then the oldest; last those that wait for no person.
pub type Order = (bool, Reverse<i32>, Option<Time>, WorkflowId);

impl Row {
    /// Reads the question of a workflow; `None` if none waits.
    pub fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Self> {
        let workflow = workflow.clone();
        let document = match read_question::pending(mailbox, &workflow) {
            Err(e) if e.is_missing_file() => return None,
            other => other,
        };
        Some(match document {
            Ok(document) => {
                let question = &document.typed;
                Self {
                    workflow,
                    question: question.question_id,
                    asked: question.asked_at(),
                    expires: question.expires_at,
                    asked_by: text::excerpt(question.asked_by.as_deref().unwrap_or("-"), 40),
                    project: question.project(),
                    headline: question_text::marked_title(question).split_whitespace().collect::<Vec<_>>().join(" "),
                    priority: question.priority.unwrap_or(0),
                    is_event: question.until.is_some(),
                    is_approval: question.approval.is_some(),
                    is_unreadable: false,
                }
            }
            Err(e) => Self {
                workflow,
                question: None,
                asked: None,
                expires: None,
                asked_by: "-".into(),
                project: "-".into(),
                headline: format!("unreadable: {}", program::message(&e)),
                priority: 0,
                is_event: false,
                is_approval: false,
                is_unreadable: true,
            },
        })
    }

    pub fn order(&self) -> Order {
        (self.is_event, Reverse(self.priority), self.asked, self.workflow.clone())
    }

    /// Whether its time is over, and a person is late.
    pub fn is_overdue(&self, now: Time) -> bool {
        !self.is_event && self.expires.is_some_and(|at| at <= now)
    }

    /// Whether it has all the words of a filter.
    pub fn fits(&self, filter: &str) -> bool {
        let Self { asked_by, project, headline, priority, .. } = self;
        filter::fits(Looked { id: self.workflow.as_str(), asked_by, project, headline, priority: *priority }, filter)
    }
}
