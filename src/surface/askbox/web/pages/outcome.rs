//! What became of a question: accepted, launched, delivered, and the result.

use crate::error::Result;
use crate::mailbox::documents::checks::match_option;
use crate::mailbox::round::Round;
use crate::mailbox::{Answer, AnswerValue, Folder, Mailbox, Question};
use crate::run::attempt::record;
use crate::run::view::status::{self, Standing, Status};
use crate::surface::ask_answer::question_text;
use crate::text;
use crate::time::{self, Time};

/// The longest result that is shown, in bytes.
const RESULT: usize = 16 << 10;

/// What became of a question.
#[derive(Debug)]
pub struct Outcome {
    pub workflow: String,
    pub question_id: String,
    /// The question in one line.
    pub title: String,
    /// `delivered`, `running` …
    pub state: &'static str,
    /// What was answered: one line for each part, with the part's text.
    pub answer: Vec<(String, String)>,
    /// That it was declined, or the question that was asked back.
    pub word: &'static str,
    pub is_own_words: bool,
    pub note: String,
    /// Who answered, how and when.
    pub who: String,
    pub late: Vec<(String, String)>,
    pub steps: Vec<Step>,
    /// What the run does now.
    pub now: Option<String>,
    pub why: Option<String>,
    pub todo: Option<String>,
    pub cost: Option<String>,
    pub result: Option<String>,
    /// Whether the answer can be taken back.
    pub can_be_undone: bool,
    /// Whether a run of it is on record.
    pub has_run: bool,
    /// Whether more is to come.
    pub goes_on: bool,
}

/// One step of an answer's way.
#[derive(Debug, PartialEq)]
pub struct Step {
    pub name: &'static str,
    pub ago: String,
    /// `done`, `now`, `failed`, or empty where it is still to come.
    pub state: &'static str,
}

impl Outcome {
    /// Of a round that was answered or is over.
    pub fn of(mailbox: &Mailbox, round: &Round) -> Result<Self> {
        let question = &round.document.typed;
        let (status, run) = match record::latest(mailbox, &round.id) {
            Ok(run) => (status::of_round(mailbox, round.folder, &round.id, question)?, run),
            Err(e) => (status::without_record(mailbox, round.folder, &round.id, question, &e)?, None),
        };
        let answer = question.answer.as_ref();
        let launched = run.as_ref().and_then(|run| run.progress.started_at);
        let is_taken_back = question.taken_back.is_some() && answer.is_none();
        let live = status.live.as_ref();
        Ok(Self {
            workflow: round.id.workflow.to_string(),
            question_id: round.id.question.to_string(),
            title: text::excerpt(&question.title(), 300),
            state: status.state.word(),
            answer: answer.map(|answer| in_lines(question, answer)).unwrap_or_default(),
            word: answer.map_or("", |answer| if answer.value.is_some() { "" } else { answer.word() }),
            is_own_words: answer.is_some_and(|a| a.value.as_ref().is_some_and(|v| !match_option::in_own_words(question, v).is_empty())),
            note: answer.and_then(|a| a.note.as_deref()).map(text::printable).unwrap_or_default(),
            who: answer.map_or_else(|| question_text::state(round), Answer::who),
            late: question.late_answers.iter().map(|late| (late.who(), said(late))).collect(),
            steps: steps(answer.and_then(|a| a.at), launched, &status, answer.is_some()),
            now: live.filter(|_| status.state == Standing::Running).map(|live| text::one_line(&live.words)),
            why: status.why.as_deref().map(text::printable),
            todo: status.todo.as_deref().map(text::printable),
            cost: status.cost_usd.map(|usd| format!("${usd:.4}")),
            result: status.result.as_deref().map(|result| text::printable(&text::beginning(result, RESULT))),
            can_be_undone: round.folder == Folder::Answered && answer.is_some_and(Answer::is_a_persons) && !is_taken_back,
            has_run: run.is_some(),
            goes_on: status.state.is_open() && !matches!(status.state, Standing::Parked | Standing::Interrupted),
        })
    }
}

fn said(answer: &Answer) -> String {
    answer.value.as_ref().map_or_else(|| answer.word().into(), |value| text::printable(&value.to_text()))
}

/// An answer line by line; that of a batch with what each was asked.
fn in_lines(question: &Question, answer: &Answer) -> Vec<(String, String)> {
    match &answer.value {
        None => Vec::new(),
        Some(AnswerValue::Batch(map)) => {
            let parts = question.parts();
            let of = |(n, part): (usize, &crate::mailbox::documents::asked::Part)| {
                let value = map.get(&part.key(n)).and_then(|value| AnswerValue::from_json(value.clone()).ok())?;
                let asked = part.header.as_deref().unwrap_or(&part.question);
                Some((text::excerpt(asked, 120), text::printable(&value.to_text())))
            };
            parts.iter().enumerate().filter_map(of).collect()
        }
        Some(value) => vec![(String::new(), text::printable(&value.to_text()))],
    }
}

/// How far an answer has come.
fn steps(accepted: Option<Time>, launched: Option<Time>, status: &Status, is_answered: bool) -> Vec<Step> {
    if !is_answered {
        return Vec::new();
    }
    let step = |name, at: Option<Time>, state| Step { name, ago: time::ago(at), state };
    let (second, third) = match status.state {
        Standing::Delivered | Standing::Awaiting => ("done", ("delivered", "done")),
        Standing::Running | Standing::Retrying | Standing::Throttled | Standing::Orphaned => ("done", ("delivered", "now")),
        Standing::Parked => ("done", ("parked", "failed")),
        Standing::Interrupted => ("done", ("stopped", "failed")),
        Standing::Dropped | Standing::Withdrawn | Standing::Superseded | Standing::Expired => ("", (status.state.word(), "failed")),
        _ => ("now", ("delivered", "")),
    };
    let ended = matches!(third.1, "done" | "failed").then_some(status.since).flatten();
    vec![
        step("accepted", accepted, "done"),
        step("launched", launched, if launched.is_some() { "done" } else { second }),
        step(third.0, ended, third.1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_from_accepted_to_its_end_and_never_skips_a_step() {
        let words = |standing, launched: bool| {
            let status = Status { state: standing, ..status::unreadable(&"w".parse().unwrap(), &crate::error::Error::failed("", "")) };
            let at = launched.then(crate::time::now);
            steps(at, at, &status, true).iter().map(|s| format!("{}:{}", s.name, s.state)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(Standing::Answered, false), "accepted:done launched:now delivered:");
        assert_eq!(words(Standing::Queued, false), "accepted:done launched:now delivered:");
        assert_eq!(words(Standing::Running, true), "accepted:done launched:done delivered:now");
        assert_eq!(words(Standing::Delivered, true), "accepted:done launched:done delivered:done");
        assert_eq!(words(Standing::Parked, true), "accepted:done launched:done parked:failed");
    }
}
