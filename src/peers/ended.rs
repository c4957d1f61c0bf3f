//! How a question ended that waits on its machine no longer. It is asked for only where a person wants to know: no list has it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document;
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::documents::question::QuestionDocument;
use crate::mailbox::{Answer, AnswerValue, Question};
use crate::untrusted::Untrusted;

/// How the last question of a workflow ended, in its machine's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The round.
    pub round: QuestionId,
    /// The question in one line.
    pub title: Untrusted,
    /// How it ended: `answered by ann through inbox (terminal), 5m ago`.
    pub said: Untrusted,
    /// How its round stands: `running`, `delivered`.
    pub state: Untrusted,
    /// The answer, as far as it is told.
    pub answer: Option<Untrusted>,
    /// What was written beside it.
    pub note: Option<Untrusted>,
}

/// What `ask-answer show ID --json` prints.
#[derive(Deserialize)]
struct Shown {
    state: String,
    question_id: QuestionId,
    document: Box<RawValue>,
}

impl Ended {
    /// Reads what `ask-answer show ID --json` has printed on another machine; `None` if it is something else. `Some(None)` if the question still
    /// waits, or cannot be read.
    pub(super) fn read(workflow: &WorkflowId, printed: &[u8]) -> Option<Option<Self>> {
        let shown: Shown = document::json(printed)?;
        let document = QuestionDocument::parse(shown.document.get().as_bytes()).ok();
        let document = document.filter(|document| document.typed.workflow_id == *workflow && shown.state != "pending");
        Some(document.map(|document| {
            let question = &document.typed;
            let state = question.closed.as_ref().map_or(shown.state, |closing| closing.state.word().into());
            Self::of(shown.question_id, question, question.answer.as_ref(), state)
        }))
    }

    /// The end of this round.
    pub(super) fn of(round: QuestionId, question: &Question, answer: Option<&Answer>, state: String) -> Self {
        let of_closing = || question.closed.as_ref().map(|closing| format!("{} by {}", closing.state.word(), closing.by));
        let said = answer.map(Answer::who).or_else(of_closing).unwrap_or_else(|| state.clone());
        Self {
            round,
            title: question.title().to_string().into(),
            said: said.into(),
            state: state.into(),
            answer: answer.and_then(|answer| answer.value.as_ref()).map(|value| AnswerValue::to_text(value).into()),
            note: answer.and_then(|answer| answer.note.clone()).map(Untrusted::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_machine_shows_is_read_as_an_end_and_as_none_while_it_waits_or_is_another_workflows() {
        let workflow: WorkflowId = "w".parse().unwrap();
        let line = |state: &str, id: &str| {
            format!(
                r#"{{"state":"{state}","question_id":"0192d3a0-0000-7000-8000-000000000001","document":{{"workflow_id":"{id}","question":"Which?",
                "answer":{{"value":"a","by":"bob","channel":"inbox","note":"soon"}}}}}}"#
            )
        };
        let ended = Ended::read(&workflow, line("running", "w").as_bytes()).flatten().unwrap();
        assert_eq!((ended.said.raw(), ended.state.raw()), ("answered by bob through inbox", "running"));
        assert_eq!((ended.answer.unwrap().raw(), ended.note.unwrap().raw()), ("a", "soon"));
        for other in [line("pending", "w"), line("running", "x")] {
            assert_eq!(Ended::read(&workflow, other.as_bytes()), Some(None), "{other}");
        }
        assert_eq!(Ended::read(&workflow, b"Welcome to build"), None);
    }
}
