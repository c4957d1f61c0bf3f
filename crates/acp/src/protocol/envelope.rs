//! One line of JSON-RPC: a request or a notification of the agent, or its reply to a request of ours.
//!
//! The ids of the two sides have nothing to do with each other: both may begin with 0.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use askbox_agent::stream::bounded::NAME;
use askbox_agent::stream::wire::{self, Raw};

/// The largest `params` or `result` that is read, in bytes.
const LARGEST: usize = 1 << 20;

/// JSON-RPC's code for a method that the receiver does not have.
const METHOD_NOT_FOUND: i64 = -32601;

/// The fields of a line.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Fields<'a> {
    id: Raw<'a>,
    method: Raw<'a>,
    params: Raw<'a>,
    result: Raw<'a>,
    error: Raw<'a>,
}

/// A line of the agent.
pub(super) enum Envelope<'a> {
    /// It waits for a reply with this id, which is JSON as the agent wrote it.
    Request {
        id: String,
        method: String,
        params: Raw<'a>,
    },
    Notification {
        method: String,
        params: Raw<'a>,
    },
    Reply {
        id: u64,
        result: Result<Raw<'a>, Raw<'a>>,
    },
    /// An object that is none of these.
    Other,
}

/// Reads a line.
///
/// # Errors
/// If it is not a JSON object, or names a field twice.
pub(super) fn read(line: &str) -> serde_json::Result<Envelope<'_>> {
    let fields: Fields<'_> = wire::line(line)?;
    let method = wire::get::<String>(fields.method);
    Ok(match (method, fields.id) {
        (Some(method), Some(id)) => match request_id(id) {
            Some(id) => Envelope::Request { id, method, params: fields.params },
            None => Envelope::Other,
        },
        (Some(method), None) => Envelope::Notification { method, params: fields.params },
        (None, id) => match (wire::get(id), fields.error.filter(|error| error.get() != "null")) {
            (Some(id), Some(error)) => Envelope::Reply { id, result: Err(Some(error)) },
            (Some(id), None) => Envelope::Reply { id, result: Ok(fields.result) },
            (None, _) => Envelope::Other,
        },
    })
}

/// The id of a request, if a reply can repeat it: a number or a string of limited length.
fn request_id(id: &RawValue) -> Option<String> {
    let json = id.get();
    let is_id = json.starts_with('"') || json.starts_with('-') || json.starts_with(|c: char| c.is_ascii_digit());
    (is_id && json.len() <= NAME).then(|| json.to_owned())
}

/// The value, if it is not too large and has this shape.
pub(super) fn shaped<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    wire::get(raw.filter(|json| json.get().len() <= LARGEST))
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A notification of ours.
pub(super) fn notification(method: &str, params: Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// The reply to a request of the agent. `id` is JSON. It is repeated as the agent wrote it, because the agent looks for that.
pub(super) fn reply(id: &str, result: Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}

/// The reply to a request of the agent for something that we do not have.
pub(super) fn no_such_method(id: &str, method: &str) -> String {
    let error = json!({ "code": METHOD_NOT_FOUND, "message": "Method not found", "data": { "method": method } });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n")
}

/// True if the agent names this request. It may spell the id in another way than in the request itself.
pub(super) fn names(named: &Value, id: &str) -> bool {
    serde_json::from_str::<Value>(id).is_ok_and(|id| id == *named)
}

/// One line with its line feed. JSON escapes control characters, so the only line feed is the last byte.
fn line(message: &Value) -> String {
    format!("{message}\n")
}
