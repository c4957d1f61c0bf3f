//! The shapes of `claude`'s stream-json lines, read leniently: every field is optional and kept as raw JSON until
//! somebody asks for it, so that an unexpected type in one field never costs the rest of the line.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Blocks read of one message; a real one carries a single block.
const BLOCKS: usize = 1024;

/// What is kept of a JSON value: known fields of an object, elements of a list, nothing of everything else. Not derived: this
/// way one function reads them all.
pub(super) trait Shape<'a> {
    /// Where an object's field goes.
    fn place(&mut self, _key: &str) -> Place<'_, 'a> {
        Place::Nowhere
    }

    /// Where a list's elements go.
    fn list(&mut self) -> Option<&mut Vec<Block<'a>>> {
        None
    }
}

/// Where a field goes.
pub(super) enum Place<'x, 'a> {
    Raw(&'x mut Raw<'a>),
    /// It is read in place.
    Part(&'x mut dyn Shape<'a>),
    /// It has been there already.
    Taken,
    Nowhere,
}

impl<'x, 'a> Place<'x, 'a> {
    fn raw(field: &'x mut Raw<'a>) -> Self {
        if field.is_some() { Self::Taken } else { Self::Raw(field) }
    }

    fn part<T: Shape<'a> + Default>(field: &'x mut Option<T>) -> Self {
        if field.is_some() { Self::Taken } else { Self::Part(field.insert(T::default())) }
    }
}

macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

macro_rules! shape {
    ($(#[$doc:meta])* $name:ident { $($field:ident $(= $key:literal)?),* $(,)? } $($part:ident: $type:ty)?) => {
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $name<'a> {
            $(pub(super) $field: Raw<'a>,)*
            $(pub(super) $part: Option<$type>,)?
        }

        impl<'a> Shape<'a> for $name<'a> {
            fn place(&mut self, key: &str) -> Place<'_, 'a> {
                match key {
                    $(key!($field $($key)?) => Place::raw(&mut self.$field),)*
                    $(stringify!($part) => Place::part(&mut self.$part),)?
                    _ => Place::Nowhere,
                }
            }
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
    message: Message<'a>
}

shape! {
    /// `message` of `assistant` and `user` lines: read in place, since most of the stream's bytes are in there.
    Message { id, model }
    content: Blocks<'a>
}

/// The elements of a JSON list, at most [`BLOCKS`]; none for everything else.
#[derive(Default)]
pub(super) struct Blocks<'a>(Vec<Block<'a>>);

impl<'a> Shape<'a> for Blocks<'a> {
    fn list(&mut self) -> Option<&mut Vec<Block<'a>>> {
        Some(&mut self.0)
    }
}

impl<'a> Top<'a> {
    /// The blocks of the message's content.
    pub(super) fn blocks(&self) -> &[Block<'a>] {
        self.message.as_ref().and_then(|message| message.content.as_ref()).map_or(&[], |blocks| &blocks.0)
    }
}

/// Reads any JSON value into a shape.
struct Fill<'x, 'a>(&'x mut dyn Shape<'a>);

impl<'a> DeserializeSeed<'a> for Fill<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Fill<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(place) = map.next_key_seed(Key(&mut *self.0))? {
            match place {
                Place::Raw(raw) => *raw = map.next_value()?,
                Place::Part(shape) => map.next_value_seed(Fill(shape))?,
                Place::Taken => return Err(A::Error::custom("a field is there twice")),
                Place::Nowhere => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        if let Some(blocks) = self.0.list() {
            while blocks.len() < BLOCKS {
                let mut block = Block::default();
                if list.next_element_seed(Fill(&mut block))?.is_none() {
                    return Ok(());
                }
                blocks.push(block);
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a field's name as the place where its value goes.
struct Key<'x, 'a>(&'x mut dyn Shape<'a>);

impl<'x, 'a> DeserializeSeed<'a> for Key<'x, 'a> {
    type Value = Place<'x, 'a>;

    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<Place<'x, 'a>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'x, 'a> Visitor<'a> for Key<'x, 'a> {
    type Value = Place<'x, 'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Place<'x, 'a>, E> {
        Ok(self.0.place(key))
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
    /// `usage` of a result.
    Usage { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens }
}

shape! {
    /// `deferred_tool_use` of a result.
    Deferred { id, name, input }
}

shape! {
    /// `input` of a tool that writes a file.
    Paths { file_path, notebook_path }
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

/// A JSON object of a known shape; an empty one for everything else.
pub(super) fn object<'a, T: Shape<'a> + Default>(raw: Raw<'a>) -> T {
    raw.and_then(|json| read(json.get()).ok()).unwrap_or_default()
}

/// A whole line, which must be a JSON object.
pub(super) fn line<'a, T: Shape<'a> + Default>(line: &'a str) -> serde_json::Result<T> {
    if line.trim_ascii_start().starts_with('{') { read(line) } else { Err(Error::custom("not an object")) }
}

fn read<'a, T: Shape<'a> + Default>(json: &'a str) -> serde_json::Result<T> {
    let mut shape = T::default();
    fill(json, &mut shape)?;
    Ok(shape)
}

fn fill<'a>(json: &'a str, shape: &mut dyn Shape<'a>) -> serde_json::Result<()> {
    let mut from = serde_json::Deserializer::from_str(json);
    Fill(shape).deserialize(&mut from)?;
    from.end()
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
    read::<Blocks<'_>>(raw.get()).map(|blocks| blocks.0)
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
