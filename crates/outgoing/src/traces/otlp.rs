//! Spans as a request of OTLP over HTTP in JSON (<https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>). Ids are in hexadecimal, and
//! times are texts of digits, because a number of JSON may lose some.

use serde_json::{Value as Json, json};

use crate::traces::spans::{Span, Value};
use askbox_mailbox::time::Time;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// The body of a request.
pub(super) fn request(spans: &[&Span]) -> Json {
    let version = env!("CARGO_PKG_VERSION");
    let resource =
        [("service.name", "askbox"), ("service.version", version)].map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}));
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "askbox", "version": version}, "spans": spans.iter().map(|span| of_span(span)).collect::<Vec<_>>()}],
    }]})
}

fn of_span(span: &Span) -> Json {
    let id = |id: Option<String>| Json::from(id.unwrap_or_default());
    let events = span.events.iter().map(|(name, at)| json!({"timeUnixNano": nanoseconds(*at), "name": name}));
    let mut found = json!({
        "traceId": id(span.trace.map(|id| id.to_string())),
        "spanId": id(span.id.map(|id| id.to_string())),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(span.begin),
        "endTimeUnixNano": nanoseconds(span.end.max(span.begin)),
        "attributes": span.attributes.iter().map(|(key, value)| json!({"key": key, "value": of_value(value)})).collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
        "status": span.failure.as_ref().map_or_else(|| json!({}), |class| json!({"code": ERROR, "message": class})),
    });
    if let Some(parent) = span.parent {
        found["parentSpanId"] = parent.to_string().into();
    }
    if let Some(state) = &span.state {
        found["traceState"] = state.as_str().into();
    }
    found
}

fn of_value(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!({"stringValue": text}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Amount(number) => json!({"doubleValue": number}),
    }
}

/// The nanoseconds since 1970; 0 for a time that has no such number.
fn nanoseconds(at: Time) -> String {
    at.timestamp_nanos_opt().unwrap_or_default().max(0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::time;

    #[test]
    fn a_span_is_written_as_otlp_in_json() {
        let at = |text| time::parse_rfc3339(text).unwrap();
        let span = Span {
            trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
                .parse()
                .ok()
                .map(|p: askbox_mailbox::documents::fields::trace::TraceParent| p.trace()),
            name: "askbox run",
            begin: at("2026-01-01T00:00:00.5Z"),
            end: at("2025-01-01T00:00:00Z"),
            attributes: vec![("askbox.attempt", Value::Number(2)), ("askbox.cost_usd", Value::Amount(0.5))],
            failure: Some("agent".into()),
            ..Span::default()
        };
        let body = request(&[&span]);
        let written = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(written["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(
            (&written["startTimeUnixNano"], &written["endTimeUnixNano"]),
            (&"1767225600500000000".into(), &"1767225600500000000".into())
        );
        assert_eq!(
            written["attributes"],
            json!([
                {"key": "askbox.attempt", "value": {"intValue": "2"}}, {"key": "askbox.cost_usd", "value": {"doubleValue": 0.5}},
            ])
        );
        assert_eq!(written["status"], json!({"code": 2, "message": "agent"}));
        assert!(written.get("parentSpanId").is_none());
    }
}
