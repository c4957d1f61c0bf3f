//! A round as the database has it: everything that a person needs to answer it, and its end. Paths of sessions and checkpoints, proofs
//! of runs and long answers stay on the machine.

use serde_json::json;
use uuid::Uuid;

use askbox_mailbox::documents::shown;
use askbox_mailbox::{Answer, AnswerValue, Folder, Question, Result, RoundId, document, text};

/// The longest answer and note that people on other machines are shown, in bytes.
const LONGEST: usize = 4 << 10;

/// A round's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The round.
    pub round: RoundId,
    /// The turn of the round: when an answer was last taken back, in milliseconds, or 0.
    pub turn: i64,
    /// 0 pending, 1 answered, 2 over.
    pub rank: i16,
    /// The word for people.
    pub state: &'static str,
    /// The hash of the question.
    pub hash: Uuid,
    /// The question in JSON; empty if it is no longer known.
    pub doc: String,
    /// The person who answered, and the end of the round, in JSON.
    pub ending: Option<String>,
}

impl Row {
    /// The row of a round that lies in `folder`.
    ///
    /// # Errors
    /// If the question cannot be written as JSON.
    pub fn new(round: RoundId, folder: Folder, question: &Question) -> Result<Self> {
        let rank = match folder {
            Folder::Pending => 0,
            Folder::Answered | Folder::Running | Folder::Parked => 1,
            _ => 2,
        };
        let state = question.closed.as_ref().filter(|_| rank == 2).map_or(folder.name(), |closing| closing.state.word());
        let turn = question.taken_back.as_ref().map_or(0, |back| back.at.timestamp_millis());
        Ok(Self { turn, rank, state, hash: question.hash()?, doc: shown(&round, question)?, ending: ending(question)?, round })
    }

    /// The row for a round that is over and has left nothing here.
    pub fn gone(round: RoundId, turn: i64) -> Self {
        Self { round, turn, rank: 2, state: "gone", hash: Uuid::nil(), doc: String::new(), ending: None }
    }
}

/// The part of a question that people on other machines get.
#[derive(serde::Serialize)]
struct ShownInList {
    #[serde(flatten)]
    shown: Question,
    /// See [`shown::OF_ITS_MACHINE`].
    of_its_machine: String,
}

/// The question without what belongs to this machine alone.
fn shown(round: &RoundId, question: &Question) -> Result<String> {
    let shown = Question { question_id: Some(round.question), ..shown::shown(question) };
    in_text(&ShownInList { shown, of_its_machine: shown::for_its_machine(question)? })
}

fn ending(question: &Question) -> Result<Option<String>> {
    if question.answer.is_none() && question.closed.is_none() {
        return Ok(None);
    }
    let closed = question.closed.as_ref().map(|closed| {
        let why = closed.why.as_deref().map(|why| text::beginning(why, 500));
        json!({"state": closed.state, "at": closed.at, "by": text::beginning(&closed.by, 200), "why": why})
    });
    let answer = question.answer.as_ref().map(told);
    in_text(&json!({"answer": answer, "closed": closed, "late_answers": question.late_answers.len()})).map(Some)
}

/// An answer as other people are shown it. A long one is left out.
fn told(answer: &Answer) -> serde_json::Value {
    let value = answer.value.as_ref().filter(|value| value.to_text().len() <= LONGEST).map(AnswerValue::to_json);
    let note = answer.note.as_deref().filter(|note| note.len() <= LONGEST);
    let (by, channel) = (text::beginning(&answer.by, 200), text::beginning(&answer.channel, 200));
    json!({
        "outcome": answer.outcome, "value": value, "by": by, "channel": channel, "at": answer.at, "note": note,
        "asks_back": answer.asks_back, "offer_id": answer.offer_id,
    })
}

fn in_text(value: &impl serde::Serialize) -> Result<String> {
    document::to_json(value).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
