//! Limits on the size of an agent's output.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::stream::wire::{self, Raw};
use askbox_mailbox::Untrusted;

/// The largest JSON value that is parsed into memory, in bytes of its text.
pub const EXACT_LIMIT: usize = 256 << 10;
/// The longest string that is kept in a tool input of an event, in bytes.
const INPUT_STRING: usize = 8 << 10;
/// The largest tool input that is kept as a structure in an event, in bytes of its text.
const INPUT_LIMIT: usize = 64 << 10;

/// The first `limit` bytes of a text, or up to three less, so that no character is cut.
pub fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The last `limit` bytes of a text, or up to three less, so that no character is cut.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// The longest id, name or word, in bytes. A longer one is cut.
pub const NAME: usize = 512;
/// The longest path and the longest error, in bytes. A longer one is cut.
const LINE: usize = 4096;

/// A JSON string as an id, a name or a word; empty for a value of another type. It is cut to 512 bytes, because such strings are kept
/// for as long as a run lives.
///
/// # Errors
/// If an escape is half of a surrogate pair.
pub(crate) fn name(raw: Raw<'_>) -> serde_json::Result<Untrusted> {
    Ok(head(wire::string(raw)?.raw(), NAME).into())
}

/// [`name`]; `None` for a value of another type.
pub(crate) fn some_name(raw: Raw<'_>) -> serde_json::Result<Option<Untrusted>> {
    Ok(wire::text(raw)?.map(|name| head(name.raw(), NAME).into()))
}

/// A JSON string of at most 4096 bytes, otherwise like [`name`].
pub(crate) fn path(raw: Raw<'_>) -> serde_json::Result<Untrusted> {
    Ok(head(wire::string(raw)?.raw(), LINE).into())
}

/// The whole value; `None` if it is missing, larger than [`EXACT_LIMIT`] or nested too deep.
pub fn exact(raw: Raw<'_>) -> Option<Value> {
    let json = raw.map(RawValue::get)?;
    if json.len() > EXACT_LIMIT { None } else { serde_json::from_str(json).ok() }
}

/// The input of a tool for an event, with shortened strings. If the input is too large or nested too deep, the beginning of its JSON as
/// a string.
pub(crate) fn input(raw: Raw<'_>) -> Value {
    let Some(json) = raw.map(RawValue::get) else { return Value::Null };
    if json.len() <= INPUT_STRING {
        if let Some(value) = exact(raw) {
            return value;
        }
    } else if let Some(mut value) = exact(raw) {
        shorten(&mut value);
        if serde_json::to_string(&value).is_ok_and(|text| text.len() <= INPUT_LIMIT) {
            return value;
        }
    }
    Value::String(format!("{}…", head(json, INPUT_STRING)))
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > INPUT_STRING => {
            text.truncate(text.floor_char_boundary(INPUT_STRING));
            text.push('…');
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}
