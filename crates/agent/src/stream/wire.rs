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

/// Any line.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Raw<'a>,
    pub(super) subtype: Raw<'a>,
    pub(super) session_id: Raw<'a>,
    pub(super) parent_tool_use_id: Raw<'a>,
    /// A [`Message`], in lines of type `assistant` and `user`.
    pub(super) message: Raw<'a>,
    pub(super) model: Raw<'a>,
    pub(super) claude_code_version: Raw<'a>,
    #[serde(rename = "permissionMode")]
    pub(super) permission_mode: Raw<'a>,
    pub(super) cwd: Raw<'a>,
    pub(super) attempt: Raw<'a>,
    pub(super) max_retries: Raw<'a>,
    pub(super) retry_delay_ms: Raw<'a>,
    pub(super) error_status: Raw<'a>,
    pub(super) error: Raw<'a>,
    pub(super) command_uuid: Raw<'a>,
    pub(super) state: Raw<'a>,
    pub(super) request_id: Raw<'a>,
    /// A [`Request`], in lines of type `control_request`.
    pub(super) request: Raw<'a>,
    /// A [`Response`], in lines of type `control_response`.
    pub(super) response: Raw<'a>,
    pub(super) is_api_error_message: Raw<'a>,
    /// A [`StreamEvent`], in lines of type `stream_event`.
    pub(super) event: Raw<'a>,
    pub(super) status: Raw<'a>,
    /// A [`RateLimit`], in lines of type `rate_limit_event`.
    pub(super) rate_limit_info: Raw<'a>,
}

/// The API's report on the plan's limit.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct RateLimit<'a> {
    pub(super) status: Raw<'a>,
    /// In seconds since 1970.
    pub(super) resets_at: Raw<'a>,
    pub(super) rate_limit_type: Raw<'a>,
}

/// One event of the API's answer while it is generated.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct StreamEvent<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Raw<'a>,
    /// A [`Delta`].
    pub(super) delta: Raw<'a>,
}

/// The piece that a [`StreamEvent`] adds to a block of the answer.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Delta<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Raw<'a>,
    pub(super) text: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) id: Raw<'a>,
    pub(super) model: Raw<'a>,
    /// A list of [`Block`]s.
    pub(super) content: Raw<'a>,
}

/// One block in the content of a message or of a tool result.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Raw<'a>,
    pub(super) text: Raw<'a>,
    pub(super) thinking: Raw<'a>,
    pub(super) id: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) input: Raw<'a>,
    pub(super) tool_use_id: Raw<'a>,
    pub(super) is_error: Raw<'a>,
    pub(super) content: Raw<'a>,
    pub(super) source: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Request<'a> {
    pub(super) subtype: Raw<'a>,
    pub(super) tool_name: Raw<'a>,
    pub(super) input: Raw<'a>,
    pub(super) tool_use_id: Raw<'a>,
    pub(super) description: Raw<'a>,
    pub(super) requires_user_interaction: Raw<'a>,
    pub(super) agent_id: Raw<'a>,
    pub(super) mcp_server_name: Raw<'a>,
    pub(super) message: Raw<'a>,
    pub(super) mode: Raw<'a>,
    pub(super) url: Raw<'a>,
    pub(super) requested_schema: Raw<'a>,
    pub(super) property_order: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Response<'a> {
    pub(super) subtype: Raw<'a>,
    pub(super) request_id: Raw<'a>,
    pub(super) error: Raw<'a>,
    pub(super) response: Raw<'a>,
}

/// A line of type `result`.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ResultLine<'a> {
    pub(super) subtype: Raw<'a>,
    pub(super) is_error: Raw<'a>,
    pub(super) terminal_reason: Raw<'a>,
    pub(super) stop_reason: Raw<'a>,
    pub(super) session_id: Raw<'a>,
    pub(super) result: Raw<'a>,
    pub(super) errors: Raw<'a>,
    pub(super) api_error_status: Raw<'a>,
    pub(super) api_error_type: Raw<'a>,
    pub(super) api_error: Raw<'a>,
    /// A [`Deferred`] call.
    pub(super) deferred_tool_use: Raw<'a>,
    pub(super) num_turns: Raw<'a>,
    pub(super) startup_failure_reason: Raw<'a>,
    pub(super) duration_ms: Raw<'a>,
    pub(super) total_cost_usd: Raw<'a>,
    /// A [`Usage`].
    pub(super) usage: Raw<'a>,
    pub(super) model_usage_since_last_result: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Usage<'a> {
    pub(super) input_tokens: Raw<'a>,
    pub(super) output_tokens: Raw<'a>,
    pub(super) cache_read_input_tokens: Raw<'a>,
    pub(super) cache_creation_input_tokens: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Deferred<'a> {
    pub(super) id: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) input: Raw<'a>,
}

/// `input` of a tool that writes a file.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Paths<'a> {
    pub(super) file_path: Raw<'a>,
    pub(super) notebook_path: Raw<'a>,
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
