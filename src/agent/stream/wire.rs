//! The shapes of `claude`'s stream-json lines, read leniently: every field is optional and kept as raw JSON until
//! somebody asks for it, so that an unexpected type in one field never costs the rest of the line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Blocks read of one message; a real one carries a single block.
const BLOCKS: usize = 1024;

macro_rules! shape {
    ($(#[$doc:meta])* $name:ident { $($field:ident $(= $key:literal)?),* $(,)? } $($whole:ident: $type:ty)?) => {
        $(#[$doc])*
        #[derive(Deserialize, Default)]
        #[serde(default)]
        pub(super) struct $name<'a> {
            $(#[serde(borrow $(, rename = $key)?)] pub(super) $field: Raw<'a>,)*
            $(#[serde(borrow)] pub(super) $whole: $type,)?
        }
    };
}

shape! {
    /// Any line.
    Top {
        kind = "type", subtype, session_id, parent_tool_use_id,
        model, claude_code_version, permission_mode = "permissionMode", cwd,
        attempt, max_retries, retry_delay_ms, error_status, error,
        command_uuid, state, request_id, request, response, is_api_error_message,
    }
    message: Lenient<Message<'a>>
}

/// `message` of `assistant` and `user` lines: read in place, since most of the stream's bytes are in there.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Raw<'a>,
    #[serde(borrow)]
    pub(super) model: Raw<'a>,
    #[serde(borrow)]
    pub(super) content: Blocks<'a>,
}

/// `T` if it is a JSON object, an empty one for everything else.
#[derive(Default)]
pub(super) struct Lenient<T>(pub(super) T);

/// The elements of a JSON list, at most [`BLOCKS`]; none for everything else.
#[derive(Default)]
pub(super) struct Blocks<'a>(pub(super) Vec<Block<'a>>);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any::<Self>(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Blocks<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any::<Self>(PhantomData))
    }
}

/// What becomes of an object and of a list; everything else becomes the default.
trait Shape<'de>: Default {
    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl<'de, T: Deserialize<'de> + Default> Shape<'de> for Lenient<T> {
    fn object<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Self)
    }
}

impl<'de: 'a, 'a> Shape<'de> for Blocks<'a> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut blocks = Vec::new();
        while blocks.len() < BLOCKS {
            match list.next_element::<Lenient<Block>>()? {
                Some(Lenient(block)) => blocks.push(block),
                None => return Ok(Self(blocks)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self(blocks))
    }
}

struct Any<S>(PhantomData<S>);

impl<'de, S: Shape<'de>> Visitor<'de> for Any<S> {
    type Value = S;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<S, A::Error> {
        S::object(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<S, A::Error> {
        S::list(list)
    }

    fn visit_unit<E>(self) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<S, E> {
        Ok(S::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<S, E> {
        Ok(S::default())
    }
}

shape! {
    /// One block of a message's content.
    Block { kind = "type", text, thinking, id, name, input, tool_use_id, is_error, content, source }
}

shape! {
    /// `request` of a `control_request`.
    Request { subtype, tool_name, input, tool_use_id, description, requires_user_interaction }
}

shape! {
    /// `response` of a `control_response`.
    Response { subtype, request_id, error, response }
}

shape! {
    /// A `result` line.
    Verdict {
        subtype, is_error, terminal_reason, stop_reason, session_id, result, errors,
        api_error_status, api_error_type, api_error, deferred_tool_use,
        num_turns, duration_ms, total_cost_usd, usage, model_usage_since_last_result, result_index,
    }
}

shape! {
    /// `deferred_tool_use` of a result.
    Deferred { id, name, input }
}

/// A JSON string; `None` for everything else.
pub(super) fn text(raw: Raw<'_>) -> serde_json::Result<Option<Cow<'_, str>>> {
    let Some(json) = raw.map(RawValue::get) else {
        return Ok(None);
    };
    let Some(inner) = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Ok(None);
    };
    if inner.contains('\\') {
        return serde_json::from_str(json).map(|owned: String| Some(Cow::Owned(owned)));
    }
    Ok(Some(Cow::Borrowed(inner)))
}

/// A JSON string, empty for everything else.
pub(super) fn string(raw: Raw<'_>) -> serde_json::Result<String> {
    text(raw).map(|text| text.unwrap_or_default().into_owned())
}

/// A JSON string without escapes, as names and ids are; empty for everything else.
pub(super) fn word(raw: Raw<'_>) -> &str {
    match text(raw) {
        Ok(Some(Cow::Borrowed(word))) => word,
        _ => "",
    }
}

/// A value of a simple type; `None` if it is of another.
pub(super) fn get<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    raw.and_then(|json| serde_json::from_str(json.get()).ok())
}

/// A JSON object of a known shape; an empty one for everything else. (A derived shape would also take a list for its
/// fields in order.)
pub(super) fn object<'a, T: Deserialize<'a> + Default>(raw: Raw<'a>) -> T {
    get(raw.filter(|json| json.get().starts_with('{'))).unwrap_or_default()
}

/// A whole line, which must be a JSON object.
pub(super) fn line<'a, T: Deserialize<'a>>(line: &'a str) -> serde_json::Result<T> {
    if line.trim_ascii_start().starts_with('{') { serde_json::from_str(line) } else { Err(serde::de::Error::custom("not an object")) }
}

/// A JSON number as a count; fractions, negative and huge ones are clamped.
pub(super) fn count(raw: Raw<'_>) -> Option<u64> {
    // `as` saturates.
    get::<u64>(raw).or_else(|| get::<f64>(raw).map(|number| number as u64))
}

/// The elements of a JSON list, at most [`BLOCKS`]; none for everything else.
pub(super) fn blocks(raw: Raw<'_>) -> serde_json::Result<Vec<Block<'_>>> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    serde_json::from_str::<Blocks>(raw.get()).map(|blocks| blocks.0)
}

/// The head of a JSON string, about `limit` bytes long, and the length of the whole; `None` for everything else.
pub(super) fn text_head(raw: Raw<'_>, limit: usize) -> serde_json::Result<Option<(Cow<'_, str>, u64)>> {
    let Some(json) = raw.map(RawValue::get).filter(|json| json.len() > limit) else {
        return Ok(text(raw)?.map(|text| {
            let length = text.len() as u64;
            (text, length)
        }));
    };
    let Some(inner) = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Ok(None);
    };
    let bytes = inner.as_bytes();
    let (mut at, mut length, mut cut) = (0, 0, None);
    while at < bytes.len() {
        if cut.is_none() && at >= limit && inner.is_char_boundary(at) {
            cut = Some(at);
        }
        let (written, meant) = match bytes[at] {
            b'\\' => match unit(&bytes[at..]) {
                Some(0xD800..0xE000) => (12, 4),
                Some(0..0x80) => (6, 1),
                Some(0x80..0x800) => (6, 2),
                Some(_) => (6, 3),
                None => (2, 1),
            },
            _ => (1, 1),
        };
        at += written;
        length += meant;
    }
    let kept = cut.map_or(json.to_owned(), |cut| format!("\"{}\"", &inner[..cut]));
    serde_json::from_str(&kept).map(|text: String| Some((Cow::Owned(text), length)))
}

/// A copy of the line, of the same length, without what strict JSON forbids but programs do emit: halves of surrogate
/// pairs (JavaScript cuts strings in their middle) and raw control characters. `None` if there is none of it.
pub(super) fn repair(line: &str) -> Option<String> {
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
    fn halves_of_surrogate_pairs_and_control_characters_are_repaired_and_pairs_kept() {
        let line = "{\"a\":\"\\ud83d\\ude00 \\ud83d x \\ude00 \\\\ud83d \u{1}\"}";
        assert!(serde_json::from_str::<serde_json::Value>(line).is_err());
        let repaired = repair(line).unwrap();
        assert_eq!(repaired.len(), line.len());
        let value: serde_json::Value = serde_json::from_str(&repaired).unwrap();
        assert_eq!(value["a"], "😀 \u{fffd} x \u{fffd} \\ud83d  ");
        assert_eq!(repair("{\"a\":\"\\ud83d\\ude00\"}"), None);
    }

    #[test]
    fn the_head_of_a_text_comes_with_the_length_of_the_whole() {
        let whole = "a\"b\\c\né€😀\u{1}ü😀😀\u{7f}zé€";
        let escaped: String = whole.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        for json in [serde_json::to_string(whole).unwrap(), format!("\"{escaped}\"")] {
            let raw: &RawValue = serde_json::from_str(&json).unwrap();
            for limit in 0..json.len() + 2 {
                let (head, length) = text_head(Some(raw), limit).unwrap().unwrap();
                assert_eq!(length, whole.len() as u64);
                assert!(whole.starts_with(&*head) && head.len() <= limit + 4);
            }
        }
    }

    #[test]
    fn a_message_of_a_million_blocks_is_not_kept_whole() {
        let json = format!("[{}{{}}]", "{},".repeat(1_000_000));
        let raw: &RawValue = serde_json::from_str(&json).unwrap();
        assert_eq!(blocks(Some(raw)).unwrap().len(), BLOCKS);
    }
}
