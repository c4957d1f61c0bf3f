//! A person's answer as the reply to the program.

use serde_json::{Map, Value, json};

use crate::commands::live::office::Office;
use crate::commands::live::programs::Program;
use crate::commands::live::request::Request;
use crate::commands::live::wire::Outgoing;
use askbox_cli::ask_user_question_call;
use askbox_cli::dialog_question::Subject;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::RoundId;
use askbox_mailbox::{Answer, AnswerValue, Question};
use askbox_run::approval::permit::{self, Permit};

/// The reply that follows from the question's answer.
///
/// # Errors
/// If the answer does not count, or is not about this call.
pub(super) fn of(office: Office<'_>, round: &RoundId, question: &Question, request: &Request) -> Result<Outgoing> {
    let not_asked = || Error::failed("the answer is to another call", "answer it at its terminal");
    let answer = question.answer.as_ref().ok_or_else(not_asked)?;
    let policy = office.config.answers.policy();
    policy.judge(question).map_err(|why| Error::failed(format!("the answer does not count: {}", why.0), "answer it again"))?;
    let id = request.id.as_str();
    let (path, body) = match request.subject {
        // It ends the turn, as Esc does at the terminal. Only opencode's questions come here.
        Subject::Questions if answer.stops => (format!("/question/{id}/reject"), json!({})),
        Subject::Questions => (format!("/question/{id}/reply"), json!({ "answers": answers(question, answer, &request.input)? })),
        Subject::Permission => {
            let cwd = request.cwd();
            let permit = permit::permit(office.mailbox, &policy, &office.config.approvals.refuse, round, question, &request.call(&cwd))?;
            let decision = match permit {
                Permit::Allowed => Decision::Once,
                // A refusal without words ends the turn.
                Permit::Refused(_) if answer.stops => Decision::Reject(None),
                Permit::Refused(words) => Decision::Reject(Some(words)),
                // Nothing of these calls can be edited.
                Permit::AllowedEdited(_) | Permit::Ask(_) => return Err(not_asked()),
            };
            decision.reply(office.program, id)
        }
    };
    Ok(Outgoing { id: request.id.clone(), path, body })
}

/// A person's decision about a call.
enum Decision {
    Once,
    /// With words for the model. Without words, it ends the turn.
    Reject(Option<String>),
}

impl Decision {
    /// The path and the body of the reply. The extension of Copilot knows the call of its API by itself. Qwen takes no words.
    fn reply(self, program: Program, id: &str) -> (String, Value) {
        match (program, self) {
            (Program::Opencode, Self::Once) => (format!("/permission/{id}/reply"), json!({ "reply": "once" })),
            (Program::Opencode, Self::Reject(words)) => {
                (format!("/permission/{id}/reply"), with(json!({ "reply": "reject" }), "message", words))
            }
            (Program::Copilot, Self::Once) => (String::new(), json!({ "kind": "approve-once" })),
            (Program::Copilot, Self::Reject(words)) => (String::new(), with(json!({ "kind": "reject" }), "feedback", words)),
            (Program::Qwen, decision) => (String::new(), json!({ "allowed": matches!(decision, Self::Once) })),
        }
    }
}

/// The object with the words in this field, if there are any.
fn with(mut body: Value, name: &str, words: Option<String>) -> Value {
    if let Some(words) = words {
        body[name] = words.into();
    }
    body
}

/// The answers in the order of the questions. Each is a list of labels, or of texts.
fn answers(question: &Question, answer: &Answer, input: &Map<String, Value>) -> Result<Vec<Vec<String>>> {
    let parts = question.parts();
    let filled = match ask_user_question_call::result(input, question, answer) {
        // A missing field of a value is null. A map would panic.
        Ok(filled) => Value::Object(filled),
        Err(words) => return Ok(vec![vec![words]; parts.len()]),
    };
    let given = |n: usize| match answer.value.as_ref()? {
        AnswerValue::Batch(map) => map.get(&parts[n].key(n)).cloned().and_then(|value| AnswerValue::from_json(value).ok()),
        value => Some(value.clone()),
    };
    let of = |n: usize| {
        let mut said = match given(n)? {
            AnswerValue::List(labels) => labels,
            other => vec![other.to_text()],
        };
        let text = filled["questions"][n]["question"].as_str().unwrap_or_default();
        said.extend(filled["annotations"][text]["notes"].as_str().map(|note| format!("user_note: {note}")));
        Some(said).filter(|said| said.iter().any(|words| !words.trim().is_empty()))
    };
    let missing = || Error::failed("a question of the dialog has no answer", "answer it at its terminal");
    (0..parts.len()).map(of).collect::<Option<_>>().ok_or_else(missing)
}
