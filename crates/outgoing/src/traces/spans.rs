//! The spans of one round, from its document and the records of its attempts.

use askbox_config::Config;
use askbox_mailbox::documents::fields::trace::{SpanId, TraceId};
use askbox_mailbox::{AnswerValue, Closed, Mailbox, Question, RoundId, Time, text};
use askbox_run::attempt::trace;
use askbox_run::{Run, record};

/// The most attempts of a round that have spans, the newest of them.
const ATTEMPTS: usize = 16;
/// The longest text of a person or an agent, in characters.
const LONGEST_TEXT: usize = 1000;

/// A span.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Span {
    pub trace: Option<TraceId>,
    pub id: Option<SpanId>,
    pub parent: Option<SpanId>,
    pub state: Option<String>,
    pub name: &'static str,
    pub begin: Time,
    pub end: Time,
    pub attributes: Vec<(&'static str, Value)>,
    /// The events, with their times.
    pub events: Vec<(&'static str, Time)>,
    /// The class of the failure that ended it.
    pub failure: Option<String>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Amount(f64),
}

/// The spans of a round that has ended; `None` if it belongs to a trace that is not recorded, or has not ended.
pub(super) fn of_round(mailbox: &Mailbox, config: &Config, round: &RoundId, question: &Question) -> Option<Vec<Span>> {
    if !trace::is_sent(config, question) {
        return None;
    }
    let closed = question.closed.as_ref()?;
    let asked = question.asked_at().unwrap_or(closed.at);
    let answered = question.answer.as_ref().and_then(|answer| answer.at);
    let mut numbers = record::attempts(mailbox, round).unwrap_or_default();
    numbers.sort_unstable();
    let runs: Vec<Run> = numbers.iter().rev().take(ATTEMPTS).rev().filter_map(|n| record::read(mailbox, round, *n).ok()).collect();
    let launches = runs.iter().filter_map(|run| run.started_at);
    let steps = [("asked", Some(asked)), ("answered", answered)].into_iter().chain(launches.map(|at| ("launched", Some(at))));
    let whole = Span {
        parent: question.trace.as_ref().map(|trace| trace.traceparent.span()),
        end: closed.at,
        attributes: about_round(config, round, question, numbers.len()),
        events: steps.chain([(closed.state.word(), Some(closed.at))]).filter_map(|(step, at)| Some((step, at?))).collect(),
        failure: (closed.state == Closed::Dropped).then(|| closed.state.word().to_owned()),
        ..Span::new(question, round, "askbox round", SpanId::derived(&format!("round {round}")), asked)
    };
    let wait = answered.map(|at| Span {
        parent: whole.id,
        end: at,
        ..Span::new(question, round, "askbox wait", SpanId::derived(&format!("wait of {round}")), asked)
    });
    let attempts = runs.iter().filter_map(|run| {
        let begin = run.started_at?;
        Some(Span {
            parent: whole.id,
            end: run.ended_at.unwrap_or(closed.at),
            attributes: about_attempt(run),
            failure: run.failure.as_ref().map(|failure| failure.class.word().to_owned()),
            ..Span::new(question, round, "askbox run", trace::span_of_attempt(&run.id()), begin)
        })
    });
    let attempts: Vec<Span> = attempts.collect();
    Some([whole].into_iter().chain(wait).chain(attempts).collect())
}

impl Span {
    fn new(question: &Question, round: &RoundId, name: &'static str, id: SpanId, begin: Time) -> Self {
        let state = question.trace.as_ref().and_then(|trace| trace.tracestate.as_ref()).map(|state| state.as_str().to_owned());
        Self { trace: Some(trace::id(question, round)), id: Some(id), state, name, begin, end: begin, ..Self::default() }
    }
}

/// The ids and the outcome. The texts of people and agents are there only if the operator wants them.
fn about_round(config: &Config, round: &RoundId, question: &Question, attempts: usize) -> Vec<(&'static str, Value)> {
    let short = |text: &str| Value::Text(text::excerpt(text, LONGEST_TEXT));
    let mut found = vec![
        ("askbox.workflow_id", Value::Text(round.workflow.to_string())),
        ("askbox.question_id", Value::Text(round.question.to_string())),
        ("askbox.attempts", Value::Number(i64::try_from(attempts).unwrap_or(i64::MAX))),
    ];
    if let Some(closed) = &question.closed {
        found.push(("askbox.outcome", Value::Text(closed.state.word().to_owned())));
    }
    if let Some(answer) = &question.answer {
        found.push(("askbox.channel", short(&answer.channel)));
    }
    if config.traces.texts {
        found.push(("askbox.question", short(&question.title())));
        if let Some(answer) = &question.answer {
            found.push(("askbox.answered_by", short(&answer.by)));
            let value = answer.value.as_ref().map(|value| match value {
                AnswerValue::Text(text) => text.clone(),
                other => serde_json::to_string(other).unwrap_or_default(),
            });
            found.extend(value.map(|value| ("askbox.answer", short(&value))));
        }
    }
    found
}

fn about_attempt(run: &Run) -> Vec<(&'static str, Value)> {
    let mut found = vec![
        ("askbox.attempt", Value::Number(run.attempt.into())),
        ("askbox.runner", Value::Text(run.runner.clone())),
        ("askbox.session_id", Value::Text(run.session_id.to_string())),
        ("askbox.state", Value::Text(run.state.word().to_owned())),
    ];
    found.extend(run.cost_usd.map(|usd| ("askbox.cost_usd", Value::Amount(usd))));
    found
}
