//! The spans of one round, from its document and the records of its attempts, as OTLP over HTTP has them in JSON
//! (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>).

use serde_json::{Value as Json, json};

use askbox_config::Config;
use askbox_mailbox::documents::fields::trace::SpanId;
use askbox_mailbox::{AnswerValue, Closed, Mailbox, Question, RoundId, Time, text};
use askbox_run::attempt::trace;
use askbox_run::{Run, record};

/// The most attempts of a round that have spans, the newest of them.
const ATTEMPTS: usize = 16;
/// The longest text of a person or an agent, in characters.
const LONGEST_TEXT: usize = 1000;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// A span of the round's trace. Ids are in hexadecimal, and times are texts of digits, because a number of JSON may lose some.
fn span(question: &Question, round: &RoundId, name: &str, (id, parent): (SpanId, Option<SpanId>), (begin, end): (Time, Time)) -> Json {
    let mut span = json!({
        "traceId": trace::id(question, round).to_string(),
        "spanId": id.to_string(),
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(begin),
        "endTimeUnixNano": nanoseconds(end.max(begin)),
        "attributes": [],
        "events": [],
        "status": {},
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.to_string().into();
    }
    if let Some(state) = question.trace.as_ref().and_then(|trace| trace.tracestate.as_ref()) {
        span["traceState"] = state.as_str().into();
    }
    span
}

/// The nanoseconds since 1970; 0 for a time that has no such number.
fn nanoseconds(at: Time) -> String {
    at.timestamp_nanos_opt().unwrap_or_default().max(0).to_string()
}

/// The status of a span that ended with a failure of this class.
fn failed(class: &str) -> Json {
    json!({"code": ERROR, "message": class})
}

/// An attribute whose value is a text.
fn worded(key: &str, text: impl Into<String>) -> Json {
    json!({"key": key, "value": {"stringValue": text.into()}})
}

/// The spans of a round that has ended; `None` if it belongs to a trace that is not recorded, or has not ended.
pub(super) fn of_round(mailbox: &Mailbox, config: &Config, round: &RoundId, question: &Question) -> Option<Vec<Json>> {
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
    let id = SpanId::derived(&format!("round {round}"));
    let above = question.trace.as_ref().map(|trace| trace.traceparent.span());
    let mut whole = span(question, round, "askbox round", (id, above), (asked, closed.at));
    whole["attributes"] = about_round(config, round, question, numbers.len()).into();
    let event = |(name, at): (&str, Option<Time>)| Some(json!({"timeUnixNano": nanoseconds(at?), "name": name}));
    whole["events"] = steps.chain([(closed.state.word(), Some(closed.at))]).filter_map(event).collect();
    if closed.state == Closed::Dropped {
        whole["status"] = failed(closed.state.word());
    }
    let of_wait = SpanId::derived(&format!("wait of {round}"));
    let wait = answered.map(|at| span(question, round, "askbox wait", (of_wait, Some(id)), (asked, at)));
    let attempts = runs.iter().filter_map(|run| {
        let times = (run.started_at?, run.ended_at.unwrap_or(closed.at));
        let mut attempt = span(question, round, "askbox run", (trace::span_of_attempt(&run.id()), Some(id)), times);
        attempt["attributes"] = about_attempt(run).into();
        run.failure.iter().for_each(|failure| attempt["status"] = failed(failure.class.word()));
        Some(attempt)
    });
    Some([whole].into_iter().chain(wait).chain(attempts).collect())
}

/// The ids and the outcome. The texts of people and agents are there only if the operator wants them.
fn about_round(config: &Config, round: &RoundId, question: &Question, attempts: usize) -> Vec<Json> {
    let short = |key: &str, text: &str| worded(key, text::excerpt(text, LONGEST_TEXT));
    let mut found = vec![
        worded("askbox.workflow_id", round.workflow.as_str()),
        worded("askbox.question_id", round.question.to_string()),
        json!({"key": "askbox.attempts", "value": {"intValue": attempts.to_string()}}),
    ];
    found.extend(question.closed.as_ref().map(|closed| worded("askbox.outcome", closed.state.word())));
    found.extend(question.answer.as_ref().map(|answer| short("askbox.channel", &answer.channel)));
    if config.traces.texts {
        found.push(short("askbox.question", &question.title()));
        if let Some(answer) = &question.answer {
            found.push(short("askbox.answered_by", &answer.by));
            let value = answer.value.as_ref().map(|value| match value {
                AnswerValue::Text(text) => text.clone(),
                other => serde_json::to_string(other).unwrap_or_default(),
            });
            found.extend(value.map(|value| short("askbox.answer", &value)));
        }
    }
    found
}

fn about_attempt(run: &Run) -> Vec<Json> {
    let mut found = vec![
        json!({"key": "askbox.attempt", "value": {"intValue": run.attempt.to_string()}}),
        worded("askbox.runner", run.runner.as_str()),
        worded("askbox.session_id", run.session_id.to_string()),
        worded("askbox.state", run.state.word()),
    ];
    found.extend(run.cost_usd.map(|usd| json!({"key": "askbox.cost_usd", "value": {"doubleValue": usd}})));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::time;
    use askbox_run::delivery::Delivery;

    #[test]
    fn a_span_is_written_as_otlp_in_json() {
        let at = |text| time::parse_rfc3339(text).unwrap();
        let question =
            r#"{"workflow_id":"w","question":"?","trace":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}"#;
        let (question, round) = (serde_json::from_str(question).unwrap(), format!("w.{}.json", uuid::Uuid::nil()));
        let round = RoundId::from_file_name(&round).unwrap();
        let times = (at("2026-01-01T00:00:00.5Z"), at("2025-01-01T00:00:00Z"));
        let written = span(&question, &round, "askbox run", (SpanId::derived("x"), None), times);
        assert_eq!(written["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(
            (&written["startTimeUnixNano"], &written["endTimeUnixNano"]),
            (&"1767225600500000000".into(), &"1767225600500000000".into())
        );
        assert!(written.get("parentSpanId").is_none());
        assert_eq!(failed("agent"), json!({"code": 2, "message": "agent"}));
        let run = Run { attempt: 2, cost_usd: Some(0.5), ..Run::first(&round, Delivery::Launch.claimant()) };
        let attributes = about_attempt(&run);
        assert_eq!(attributes.first(), Some(&json!({"key": "askbox.attempt", "value": {"intValue": "2"}})));
        assert_eq!(attributes.last(), Some(&json!({"key": "askbox.cost_usd", "value": {"doubleValue": 0.5}})));
    }
}
