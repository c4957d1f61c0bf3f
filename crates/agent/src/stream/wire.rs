//! The JSON shapes of `claude`'s stream-json lines.
//!
//! Every field is optional and is kept as raw JSON until it is used. So a field of an unexpected type costs only that field, not the
//! line. A field that appears twice costs the line.
//!
//! Repairs things that strict JSON forbids and programs write all the same. These are raw control characters, and halves of surrogate
//! pairs: JavaScript makes them when it cuts a string in the middle of a pair.

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use askbox_mailbox::Untrusted;

/// A field, as JSON.
pub type Raw<'a> = Option<&'a RawValue>;

/// Declares JSON objects whose fields are all raw. `field = "name"` has another name in JSON.
macro_rules! objects {
    ($($(#[$about:meta])* $object:ident { $($(#[doc = $doc:literal])* $field:ident $(= $name:literal)?,)+ })+) => {$(
        #[derive(Deserialize, Default)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        $(#[$about])*
        pub(super) struct $object<'a> {
            $($(#[doc = $doc])* $(#[serde(rename = $name)])? pub(super) $field: Raw<'a>,)+
        }
    )+};
}

objects! {
    /// Any line.
    Line {
        kind = "type", subtype, session_id, parent_tool_use_id,
        /// A [`Message`], in lines of type `assistant` and `user`.
        message,
        model, claude_code_version, permission_mode = "permissionMode", cwd, attempt, max_retries,
        retry_delay_ms, error_status, error, command_uuid, state, request_id,
        /// A [`Request`], in lines of type `control_request`.
        request,
        /// A [`Response`], in lines of type `control_response`.
        response,
        is_api_error_message,
        /// A [`StreamEvent`], in lines of type `stream_event`.
        event,
        status,
        /// A [`RateLimit`], in lines of type `rate_limit_event`.
        rate_limit_info,
    }

    /// The API's report on the plan's limit.
    #[serde(rename_all = "camelCase")]
    RateLimit {
        status,
        /// In seconds since 1970.
        resets_at,
        rate_limit_type,
    }

    /// One event of the API's answer while it is generated.
    StreamEvent {
        kind = "type",
        /// A [`Delta`].
        delta,
    }

    /// The piece that a [`StreamEvent`] adds to a block of the answer.
    Delta {
        kind = "type", text,
    }

    Message {
        id, model,
        /// A list of [`Block`]s.
        content,
    }

    /// One block in the content of a message or of a tool result.
    Block {
        kind = "type", text, thinking, id, name, input, tool_use_id, is_error, content, source,
    }

    Request {
        subtype, tool_name, input, tool_use_id, description, requires_user_interaction, agent_id,
        mcp_server_name, message, mode, url, requested_schema, property_order,
    }

    Response {
        subtype, request_id, error, response,
    }

    /// A line of type `result`.
    ResultLine {
        subtype, is_error, terminal_reason, stop_reason, session_id, result, errors, api_error_status,
        api_error_type, api_error,
        /// A [`Deferred`] call.
        deferred_tool_use,
        num_turns, startup_failure_reason, duration_ms, total_cost_usd,
        /// A [`Usage`].
        usage,
        model_usage_since_last_result,
    }

    Usage {
        input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens,
    }

    Deferred {
        id, name, input,
    }

    /// `input` of a tool that writes a file.
    Paths {
        file_path, notebook_path,
    }
}

/// A whole line.
///
/// # Errors
/// If it is not a JSON object, or if a field of the shape appears twice.
pub fn line<'a, T: Deserialize<'a>>(line: &'a str) -> serde_json::Result<T> {
    // serde would also read a list of a struct's fields in their order.
    if line.trim_ascii_start().starts_with('{') { serde_json::from_str(line) } else { Err(Error::custom("not an object")) }
}

/// A JSON object of a known shape. An empty one for a value of another type.
///
/// # Errors
/// If a field of the shape appears twice.
pub(crate) fn object<'a, T: Deserialize<'a> + Default>(raw: Raw<'a>) -> serde_json::Result<T> {
    raw.map(RawValue::get).filter(|json| json.starts_with('{')).map_or_else(|| Ok(T::default()), serde_json::from_str)
}

/// The first 1024 elements of a JSON list of blocks. Empty for a value of another type. A real message has a single block.
///
/// # Errors
/// If a field of a block appears twice.
pub(super) fn blocks(raw: Raw<'_>) -> serde_json::Result<Vec<Block<'_>>> {
    let list = raw.map(RawValue::get).filter(|json| json.starts_with('['));
    list.map_or_else(|| Ok(Vec::new()), |json| serde_json::Deserializer::from_str(json).deserialize_seq(FirstBlocks))
}

struct FirstBlocks;

impl FirstBlocks {
    const LIMIT: usize = 1024;
}

impl<'a> Visitor<'a> for FirstBlocks {
    type Value = Vec<Block<'a>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of blocks")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while blocks.len() < Self::LIMIT {
            let Some(block) = list.next_element()? else { return Ok(blocks) };
            blocks.push(object(Some(block)).map_err(Error::custom)?);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(blocks)
    }
}

/// A JSON string; `None` for a value of another type.
///
/// # Errors
/// If an escape is half of a surrogate pair.
pub(super) fn text(raw: Raw<'_>) -> serde_json::Result<Option<Untrusted>> {
    raw.map(RawValue::get).filter(|json| json.starts_with('"')).map(serde_json::from_str).transpose()
}

/// A JSON string; empty for a value of another type.
///
/// # Errors
/// If an escape is half of a surrogate pair.
pub(super) fn string(raw: Raw<'_>) -> serde_json::Result<Untrusted> {
    Ok(text(raw)?.unwrap_or_default())
}

/// A JSON string without escapes, as in a name; empty for anything else.
pub(super) fn word(raw: Raw<'_>) -> &str {
    get(raw).unwrap_or_default()
}

/// A value of a simple type; `None` for a value of another type.
pub fn get<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    raw.and_then(|json| serde_json::from_str(json.get()).ok())
}

/// A JSON number as a count. A fraction is rounded towards zero, and a negative or too large number becomes the nearest count.
pub(super) fn count(raw: Raw<'_>) -> Option<u64> {
    // `as` saturates.
    get::<u64>(raw).or_else(|| get::<f64>(raw).map(|number| number as u64))
}

/// A copy of the line, of the same length, with U+FFFD for each half of a surrogate pair and a space for each control character. `None`
/// if the line has neither.
pub fn repair(line: &str) -> Option<String> {
    let mut bytes = line.as_bytes().to_vec();
    let (mut at, mut changed) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => match unit(&bytes[at..]) {
                Some(0xD800..0xDC00) if matches!(unit(&bytes[at + 6..]), Some(0xDC00..0xE000)) => at += 12,
                Some(0xD800..0xE000) => {
                    bytes[at + 2..at + 6].copy_from_slice(b"fffd");
                    changed = true;
                    at += 6;
                }
                _ => at += 2,
            },
            0..0x20 => {
                bytes[at] = b' ';
                changed = true;
                at += 1;
            }
            _ => at += 1,
        }
    }
    // Only ASCII was replaced by ASCII.
    changed.then(|| String::from_utf8(bytes).ok()).flatten()
}

/// The value of a `\uXXXX` escape at the beginning of `bytes`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_million_blocks_is_not_kept_whole() {
        let json = format!("[{}{{}}]", "{},".repeat(1_000_000));
        let raw: &RawValue = serde_json::from_str(&json).unwrap();
        assert_eq!(blocks(Some(raw)).unwrap().len(), FirstBlocks::LIMIT);
    }

    #[test]
    fn a_value_of_an_unexpected_type_is_an_empty_object_or_no_block() {
        for json in ["1", "\"x\"", "[1,2]", "[[],null,{}]", "true"] {
            let raw = serde_json::from_str(json).unwrap();
            let message: Message = object(raw).unwrap();
            assert!(message.id.is_none() && message.content.is_none());
            assert!(blocks(raw).unwrap().iter().all(|block| block.kind.is_none()));
        }
    }

    #[test]
    fn broken_surrogates_and_control_characters_are_repaired() {
        let line = "{\"a\":\"\\ud83d\\ude00 \\ud83d x \\ude00 \\\\ud83d \u{1}\"}";
        assert!(serde_json::from_str::<serde_json::Value>(line).is_err());
        let repaired = repair(line).unwrap();
        assert_eq!(repaired.len(), line.len());
        let value: serde_json::Value = serde_json::from_str(&repaired).unwrap();
        assert_eq!(value["a"], "😀 \u{fffd} x \u{fffd} \\ud83d  ");
        assert_eq!(repair("{\"a\":\"\\ud83d\\ude00\"}"), None);
    }
}
