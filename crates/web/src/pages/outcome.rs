//! The state of a question that was answered or is over: accepted, launched, delivered, and the result.

use askbox_cli::ask_answer::question_text;
use askbox_mailbox::documents::checks::match_option;
use askbox_mailbox::error::Result;
use askbox_mailbox::round::Round;
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::{Answer, AnswerValue, Folder, Mailbox, Question, text};
use askbox_run::attempt::record;
use askbox_run::view::status::{self, Standing, Status};

/// The maximum size of a result that is shown, in bytes.
const RESULT: usize = 16 << 10;

/// The state of a question that was answered or is over.
#[derive(Debug)]
pub struct Outcome {
    pub workflow: String,
    pub question_id: String,
    /// The question in one line.
    pub title: String,
    /// The state in one word, such as `delivered` or `running`.
    pub state: &'static str,
    /// The answer: one line for each part, with the part's text.
    pub answer: Vec<(String, String)>,
    /// The word for a refusal or for asking back.
    pub word: &'static str,
    pub is_own_words: bool,
    pub note: String,
    /// The answer's author, channel and time.
    pub who: String,
    pub late: Vec<(String, String)>,
    pub steps: Vec<Step>,
    /// The current work of the run.
    pub now: Option<String>,
    pub why: Option<String>,
    pub todo: Option<String>,
    pub cost: Option<String>,
    pub result: Option<String>,
    /// True if the answer can be taken back.
    pub can_be_undone: bool,
    /// True if a run of this round is on record.
    pub has_run: bool,
    /// True if the state will still change.
    pub goes_on: bool,
}

/// One step of an answer's progress.
#[derive(Debug, PartialEq)]
pub struct Step {
    pub name: &'static str,
    pub ago: String,
    /// `done`, `now`, `failed`, or empty if the step is still to come.
    pub state: &'static str,
}

impl Outcome {
    /// The state of a round that was answered or is over.
    pub fn read(mailbox: &Mailbox, round: &Round) -> Result<Self> {
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

/// An answer, line by line. In a batch, each line has the text of its part.
fn in_lines(question: &Question, answer: &Answer) -> Vec<(String, String)> {
    match &answer.value {
        None => Vec::new(),
        Some(AnswerValue::Batch(map)) => {
            let parts = question.parts();
            let of = |(n, part): (usize, &askbox_mailbox::documents::asked::Part)| {
                let value = map.get(&part.key(n)).and_then(|value| AnswerValue::from_json(value.clone()).ok())?;
                let asked = part.header.as_deref().unwrap_or(&part.question);
                Some((text::excerpt(asked, 120), text::printable(&value.to_text())))
            };
            parts.iter().enumerate().filter_map(of).collect()
        }
        Some(value) => vec![(String::new(), text::printable(&value.to_text()))],
    }
}

/// The progress of an answer.
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
    fn an_answer_goes_from_accepted_to_its_end_step_by_step() {
        let words = |standing, launched: bool| {
            let status =
                Status { state: standing, ..status::unreadable(&"w".parse().unwrap(), &askbox_mailbox::error::Error::failed("", "")) };
            let at = launched.then(askbox_mailbox::time::now);
            steps(at, at, &status, true).iter().map(|s| format!("{}:{}", s.name, s.state)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(Standing::Answered, false), "accepted:done launched:now delivered:");
        assert_eq!(words(Standing::Queued, false), "accepted:done launched:now delivered:");
        assert_eq!(words(Standing::Running, true), "accepted:done launched:done delivered:now");
        assert_eq!(words(Standing::Delivered, true), "accepted:done launched:done delivered:done");
        assert_eq!(words(Standing::Parked, true), "accepted:done launched:done parked:failed");
    }
}
