//! A question of another machine, and its end. The question is read and checked like a file that a stranger put into the mailbox. The end
//! of a question that no longer waits is asked for only if a person wants to know it: no list has it.

use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use askbox_mailbox::documents::checks::check_question;
use askbox_mailbox::documents::question::MAX_PENDING;
use askbox_mailbox::documents::shown::OF_ITS_MACHINE;
use askbox_mailbox::{
    Address, Answer, AnswerValue, Caller, Error, HostName, Offer, Question, QuestionDocument, QuestionId, Result, RoundId, Shown,
    Untrusted, WorkflowId, document, time,
};

/// A question that waits on another machine.
#[derive(Debug, Clone)]
pub struct RemoteQuestion {
    /// The machine.
    pub host: HostName,
    /// The workflow that asks.
    pub workflow: WorkflowId,
    /// The question, or the reason why it cannot be read.
    pub asked: Result<Asked, Untrusted>,
    /// The number of bytes that it takes.
    pub bytes: usize,
}

/// The question itself. There may be ten thousand of one machine, so only its text is kept, and is read again when it is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The round, as its machine names it.
    pub question: QuestionId,
    /// The hash of what is shown here. An answer names it, so that the answer counts only for this text.
    pub hash: Uuid,
    /// Questions of larger priority are kept if there is no room for all.
    pub(super) priority: i32,
    json: Json,
}

/// The text of a document that was read before.
#[derive(Debug, Clone)]
struct Json(Box<RawValue>);

impl Json {
    fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let json = RawValue::from_string(document::utf8(bytes)?.to_owned());
        json.map(Self).map_err(|e| Error::invalid("file", e.to_string(), "look at it on its machine"))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl RemoteQuestion {
    /// Reads a question of another machine.
    pub fn read(host: HostName, workflow: WorkflowId, question: QuestionId, document: &[u8]) -> Self {
        let asked = read(&workflow, question, document).map_err(|e| {
            let said = e.to_string();
            said.strip_prefix("-: ").unwrap_or(&said).into()
        });
        Self { host, workflow, asked, bytes: document.len() }
    }

    /// A question that its machine cannot read.
    pub fn unreadable(host: HostName, workflow: WorkflowId, why: String) -> Self {
        Self { host, workflow, bytes: why.len(), asked: Err(why.into()) }
    }

    /// Its address, `HOST:WORKFLOW`.
    pub fn address(&self) -> Address {
        Address { host: Some(self.host.clone()), workflow: self.workflow.clone() }
    }

    /// The document.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn document(&self) -> Result<QuestionDocument, Untrusted> {
        self.asked.as_ref().map_err(Clone::clone)?.document().map_err(|e| e.to_string().into())
    }

    /// The reason why the question cannot be read, on one line and cut to `max` characters. Empty if it can be read.
    pub fn why_unreadable(&self, max: usize) -> String {
        self.document().err().map(|why| why.excerpt(max)).unwrap_or_default()
    }

    /// True if this is the same round with the same text.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.host, &self.workflow, &self.asked) == (&other.host, &other.workflow, &other.asked)
    }

    /// The round, if the question can be read.
    pub fn round(&self) -> Option<RoundId> {
        let asked = self.asked.as_ref().ok()?;
        Some(RoundId { workflow: self.workflow.clone(), question: asked.question })
    }
}

impl Asked {
    /// The question in a document that was read before.
    ///
    /// # Errors
    /// If it cannot be put into JSON.
    pub fn of_document(question: QuestionId, document: &QuestionDocument) -> Result<Self> {
        Self::of(question, document, &document.to_bytes())
    }

    fn of(question: QuestionId, document: &QuestionDocument, bytes: &[u8]) -> Result<Self> {
        let (hash, priority) = (document.typed.hash()?, document.typed.priority.unwrap_or(0));
        Ok(Self { question, hash, priority, json: Json::of_bytes(bytes)? })
    }

    /// The document. Its paths are paths of its machine.
    ///
    /// # Errors
    /// None for a question that was read before.
    pub fn document(&self) -> Result<QuestionDocument> {
        QuestionDocument::parse(self.json.0.get().as_bytes())
    }

    /// The document as its machine has sent it.
    pub fn json(&self) -> &RawValue {
        &self.json.0
    }

    /// An offer of this answer. If the caller signs, the signature covers the question as it is shown here, and the hash that the
    /// question's machine has reported for the rest of it.
    ///
    /// # Errors
    /// If it cannot be signed.
    pub fn offer(&self, caller: &Caller, answer: Answer, own_words: bool) -> Result<Offer> {
        let document = self.document()?;
        let told = document.field(OF_ITS_MACHINE).and_then(|json| serde_json::from_str::<String>(json).ok());
        let question = Question { question_id: Some(self.question), ..document.typed };
        let at = time::to_the_millisecond(answer.at.unwrap_or_else(time::now));
        let answer = Answer { at: Some(at), question_hash: Some(self.hash), ..answer };
        let answer = caller.signed_for_another_machine(&question, told.as_deref(), answer)?;
        let shown = told.map(|told| Shown::with(&question, &told)).transpose()?;
        let round = RoundId { workflow: question.workflow_id, question: self.question };
        Ok(Offer::new(&round, self.hash, shown, answer, own_words))
    }
}

fn read(workflow: &WorkflowId, question: QuestionId, bytes: &[u8]) -> Result<Asked> {
    if bytes.len() as u64 > MAX_PENDING {
        return Err(document::too_long(bytes.len(), MAX_PENDING));
    }
    if let Some(version) = document::newer_version(bytes) {
        return Err(Error::Newer { file: "-".into(), version });
    }
    let document = QuestionDocument::parse(bytes)?;
    let typed = &document.typed;
    if typed.workflow_id != *workflow || typed.question_id.is_some_and(|id| id != question) {
        return Err(Error::invalid("workflow_id", "names another round than its machine does", "look at it there"));
    }
    check_question::check(typed)?;
    Asked::of(question, &document, bytes)
}

/// How the last question of a workflow stands on its machine.
pub enum Last {
    /// It waits.
    Waits(Box<RemoteQuestion>),
    /// It no longer waits.
    Ended(Ended),
}

/// The end of a workflow's last question, in its machine's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The round.
    pub round: QuestionId,
    /// The question in one line.
    pub title: Untrusted,
    /// The end in words: `answered by ann through inbox (terminal), 5m ago`.
    pub said: Untrusted,
    /// The state of its round: `running`, `delivered`.
    pub state: Untrusted,
    /// The answer, as far as the machine reports it.
    pub answer: Option<Untrusted>,
    /// The note that was written with the answer.
    pub note: Option<Untrusted>,
}

/// The output of `ask-answer show ID --json`.
#[derive(Deserialize)]
struct ShownEnd {
    state: String,
    question_id: QuestionId,
    document: Box<RawValue>,
}

impl Last {
    /// Reads the output of `ask-answer show ID --json` on another machine. `None` if it is something else. `Some(None)` if the question
    /// cannot be read.
    pub(super) fn read(host: &HostName, workflow: &WorkflowId, printed: &[u8]) -> Option<Option<Self>> {
        let shown: ShownEnd = document::json(printed)?;
        let json = shown.document.get().as_bytes();
        if shown.state == "pending" {
            let question = RemoteQuestion::read(host.clone(), workflow.clone(), shown.question_id, json);
            return Some(question.asked.is_ok().then(|| Self::Waits(Box::new(question))));
        }
        let document = QuestionDocument::parse(json).ok().filter(|document| document.typed.workflow_id == *workflow);
        Some(document.map(|document| {
            let question = &document.typed;
            let state = question.closed.as_ref().map_or(shown.state, |closing| closing.state.word().into());
            Self::Ended(Ended::new(shown.question_id, question, question.answer.as_ref(), state))
        }))
    }
}

impl Ended {
    /// The end of this round.
    pub(super) fn new(round: QuestionId, question: &Question, answer: Option<&Answer>, state: String) -> Self {
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
    fn the_end_of_a_round_is_read_from_what_another_machine_shows() {
        let workflow: WorkflowId = "w".parse().unwrap();
        let line = |state: &str, id: &str| {
            format!(
                r#"{{"state":"{state}","question_id":"0192d3a0-0000-7000-8000-000000000001","document":{{"workflow_id":"{id}","question":"Which?",
                "answer":{{"value":"a","by":"bob","channel":"inbox","note":"soon"}}}}}}"#
            )
        };
        let read = |line: &str| Last::read(&"build".parse().unwrap(), &workflow, line.as_bytes());
        let Some(Some(Last::Ended(ended))) = read(&line("running", "w")) else { panic!("it has ended") };
        assert_eq!((ended.said.raw(), ended.state.raw()), ("answered by bob through inbox", "running"));
        assert_eq!((ended.answer.unwrap().raw(), ended.note.unwrap().raw()), ("a", "soon"));
        let Some(Some(Last::Waits(waits))) = read(&line("pending", "w")) else { panic!("it waits") };
        assert_eq!(waits.document().unwrap().typed.question, "Which?");
        for other in [line("pending", "x"), line("running", "x")] {
            assert!(matches!(read(&other), Some(None)), "{other}");
        }
        assert!(read("Welcome to build").is_none());
    }
}
