//! A JSON document on disk: typed where we know a field, verbatim where we do not.
//!
//! Fields that this version does not know survive every rewrite byte for byte. Input is hostile: a duplicate field, nesting
//! deeper than [`MAX_DEPTH`], or bytes that are no UTF-8 are errors that name the file, the field and the fix.

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod fields;
use fields::Fields;

/// The version written into `schema_version`; a document without the field is version 1.
pub const SCHEMA_VERSION: u32 = 1;

/// The deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 64;

/// A typed view of a JSON object together with all of its fields in their order.
#[derive(Debug, Clone)]
pub struct Document<T> {
    /// What this version understands.
    pub typed: T,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    /// There is no other field than those of `typed`, which was written as this.
    Ours(String),
    /// It was read, or a field was set by itself. `typed` was this when it last agreed with the fields; where nothing is known of
    /// that, it is what their text says: most documents are never changed, so its JSON is made when it is asked for.
    Fields(Fields, Option<String>),
}

impl<T: DeserializeOwned + Serialize> Document<T> {
    /// Reads a document; the error names field and fix, the caller adds the file.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let text = checked_utf8(bytes)?;
        let typed = object(text).map_err(|e| unreadable(text, &e))?;
        Ok(Self { typed, body: Body::Fields(Fields::of(text.to_owned())?, None) })
    }

    /// A document of ours: every field comes from the typed value.
    pub fn new(typed: T) -> Result<Self> {
        let mut document = Self::draft(typed);
        document.update()?;
        Ok(document)
    }

    /// A document of ours that is still being filled in: it has no fields before [`update`](Self::update).
    #[must_use]
    pub fn draft(typed: T) -> Self {
        Self { typed, body: Body::Ours("{}".into()) }
    }

    /// To be called before `typed` is changed, to save [`update`](Self::update) from reading the text once more.
    pub fn about_to_change(&mut self) -> Result<()> {
        if let Body::Fields(_, agreed) = &mut self.body {
            *agreed = Some(to_text(&self.typed)?);
        }
        Ok(())
    }

    /// Brings every known field to what `typed` now says. Unknown fields stay as they are, also those inside of a known field
    /// that has not changed.
    pub fn update(&mut self) -> Result<()> {
        let now = to_text(&self.typed)?;
        match &mut self.body {
            Body::Ours(json) => *json = now,
            Body::Fields(fields, agreed) => {
                let before = match agreed.take() {
                    Some(before) => before,
                    None => to_text(&object::<T>(fields.text()).map_err(|e| unreadable(fields.text(), &e))?)?,
                };
                fields.merge(&before, &now)?;
                *agreed = Some(now);
            }
        }
        Ok(())
    }
}

// What does not depend on the type stands apart: the programs hold it once.
impl<T> Document<T> {
    /// The raw JSON of a field.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&str> {
        match &self.body {
            Body::Ours(json) => fields::find(json, key),
            Body::Fields(fields, _) => fields.get(key),
        }
    }

    /// Sets one field to any JSON value.
    pub fn set_field(&mut self, key: &str, value: &impl Serialize) -> Result<()> {
        let value = to_text(value)?;
        self.fields()?.put(key, &value);
        Ok(())
    }

    fn fields(&mut self) -> Result<&mut Fields> {
        if let Body::Ours(json) = &self.body {
            self.body = Body::Fields(Fields::of(json.clone())?, Some(json.clone()));
        }
        match &mut self.body {
            Body::Fields(fields, _) => Ok(fields),
            Body::Ours(_) => Err(Error::failed("a document has no fields", "report this")),
        }
    }

    /// The bytes to write: one field a line, in order, with a newline at the end.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.body {
            Body::Ours(json) => fields::lines(json),
            Body::Fields(fields, _) => fields.lines(),
        }
    }
}

/// What these bytes say, where that is JSON of this shape: for lines that may be torn. Where it matters what is wrong, see
/// [`Document::parse`].
#[must_use]
pub fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    // One way of reading: every other one is compiled once more for each shape.
    object(std::str::from_utf8(bytes).ok()?).ok()
}

/// Reads a JSON object.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let object = T::deserialize(Object(&mut json))?;
    json.end()?;
    Ok(object)
}

/// A JSON object and nothing else: what is derived for a struct would also take a list of its fields in their order, and reading
/// that is half of its code.
struct Object<'a, 'de>(&'a mut serde_json::Deserializer<serde_json::de::StrRead<'de>>);

impl<'de> serde::Deserializer<'de> for Object<'_, 'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        self.0.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

fn checked_utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| Error::invalid("file", format!("is no UTF-8 (byte {})", e.valid_up_to()), "save it as UTF-8"))
}

/// JSON of a value of ours.
pub fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| not_json(&e))
}

fn to_text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| not_json(&e))
}

fn not_json(e: &serde_json::Error) -> Error {
    let place = format!("line {}, column {}", e.line(), e.column());
    let fix = "write one complete JSON object; check it with: jq . FILE";
    if e.is_eof() {
        return Error::invalid("file", format!("ends in the middle of the JSON ({place})"), fix);
    }
    let text = strip_position(&e.to_string());
    match duplicate(&text) {
        Some(field) => Error::invalid(field, "is there twice", "keep one of the two"),
        None => Error::invalid("file", format!("{text} ({place})"), fix),
    }
}

fn duplicate(message: &str) -> Option<&str> {
    message.strip_prefix("duplicate field `")?.strip_suffix('`')
}

/// Why a text is no document of this type: that it nests too deep, or is no object at all, is the first thing to say.
fn unreadable(text: &str, e: &serde_json::Error) -> Error {
    let whole = check_depth(text).and_then(|()| serde_json::from_str::<AnObject>(text).map_err(|e| not_json(&e)));
    whole.err().unwrap_or_else(|| wrong_field(text, e))
}

/// What does not fit the type, with the field named by its path, found from where the reader stopped.
fn wrong_field(text: &str, e: &serde_json::Error) -> Error {
    if !e.is_data() {
        return not_json(e);
    }
    let message = strip_position(&e.to_string());
    if duplicate(&message).is_some() {
        return not_json(e);
    }
    let start: usize = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum();
    // A field that is missing is noticed at the object's end, and is the object's; everything else is the last value's.
    let path = path_at(text, start + e.column(), message.starts_with("missing field"));
    // An array at the top has no field worth a name.
    let field = if path.is_empty() || path.starts_with('[') { "file".into() } else { path };
    Error::invalid(field, message.clone(), fix_for(&message))
}

/// The path of the value that ends at this byte, or of the object around it: `options.merge`, `questions[2].type`; empty for the
/// whole document.
fn path_at(text: &str, end: usize, of_object: bool) -> String {
    enum Level {
        Object(String),
        Array(usize),
    }
    let mut levels: Vec<Level> = Vec::new();
    let (mut string, mut escaped, mut awaits_key) = (None, false, false);
    for (at, byte) in text.bytes().enumerate().take(end) {
        match (string, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                if let (true, Some(Level::Object(key))) = (awaits_key, levels.last_mut()) {
                    *key = serde_json::from_str(&text[start..=at]).unwrap_or_default();
                    awaits_key = false;
                }
                string = None;
            }
            (None, b'"') => string = Some(at),
            // The closing byte of the value itself still belongs to it.
            (None, b']' | b'}') if at + 1 < end => {
                levels.pop();
            }
            (None, b'{') => {
                levels.push(Level::Object(String::new()));
                awaits_key = true;
            }
            (None, b'[') => levels.push(Level::Array(0)),
            (None, b',') if at + 1 < end => match levels.last_mut() {
                Some(Level::Array(n)) => *n += 1,
                _ => awaits_key = true,
            },
            _ => {}
        }
    }
    if of_object {
        levels.pop();
    }
    let mut path = String::new();
    for level in &levels {
        match level {
            Level::Object(key) if path.is_empty() => path.push_str(&crate::text::excerpt(key, 60)),
            Level::Object(key) => path.push_str(&format!(".{}", crate::text::excerpt(key, 60))),
            Level::Array(n) => path.push_str(&format!("[{n}]")),
        }
    }
    path
}

/// serde_json's texts end in ` at line L column C`.
fn strip_position(text: &str) -> String {
    let cut = text.rfind(" at line ").unwrap_or(text.len());
    crate::text::excerpt(&text[..cut], 200)
}

fn fix_for(text: &str) -> &'static str {
    match text {
        t if t.starts_with("missing field") => "add the field",
        t if t.starts_with("unknown variant") => "use one of the values named",
        t if t.starts_with("duplicate field") || t.contains("is there twice") => "keep one of the two",
        _ => "see docs/protocol.md for what the field holds",
    }
}

/// Counts brackets outside of strings: serde_json skips an unknown value without any limit, and the next reader might not.
pub fn check_depth(text: &str) -> Result<()> {
    // Most documents have fewer brackets than they may have levels.
    if text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() <= MAX_DEPTH {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(too_deep());
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn too_deep() -> Error {
    Error::invalid("file", format!("nests deeper than {MAX_DEPTH} levels"), "flatten it")
}

/// Any JSON object.
struct AnObject;

impl<'de> Deserialize<'de> for AnObject {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = AnObject;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnObject, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(AnObject)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    struct Sample {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    }

    #[test]
    fn a_wrong_value_deep_inside_is_named_by_its_path() {
        #[derive(Debug, Serialize, Deserialize)]
        struct Deep {
            #[serde(default)]
            parts: Vec<Sample>,
        }
        let cases = [
            (r#"{"parts": [{"name": "a"}, {"name": "b", "count": -1}]}"#, "parts[1].count: invalid value"),
            (r#"{"x": "]}{", "parts": [{"name": "a"}, {"count": 1}]}"#, "parts[1]: missing field `name`"),
            (r#"{"parts": 7}"#, "parts: invalid type: integer `7`"),
            (r#"{"parts": [{"name": {"z": 1}}]}"#, "parts[0].name: invalid type: map"),
        ];
        for (text, expected) in cases {
            let error = Document::<Deep>::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} does not say {expected}");
        }
    }

    fn parse(text: &str) -> Result<Document<Sample>> {
        Document::parse(text.as_bytes())
    }

    #[test]
    fn a_list_of_the_fields_is_no_document_and_no_line() {
        assert!(json::<Sample>(br#"{"name":"a","count":1}"#).is_some());
        assert!(json::<Sample>(br#"["a",1]"#).is_none() && json::<Sample>(br#"{"name":"a"} {}"#).is_none());
        assert!(parse(r#"["a",1]"#).unwrap_err().to_string().contains("expected a JSON object"));
    }

    #[test]
    fn unknown_fields_survive_a_rewrite_to_the_digit() {
        let mut document =
            parse(r#"{"x": 1.10000000000000000000000001, "name": "a", "y": {"b": 12345678901234567890123456, "a": [1 , 2]}}"#).unwrap();
        document.typed.count = Some(3);
        document.update().unwrap();
        let text = String::from_utf8(document.to_bytes()).unwrap();
        assert!(text.contains("1.10000000000000000000000001") && text.contains("12345678901234567890123456") && text.contains("[1 , 2]"));
        assert!(text.contains(r#""count": 3"#));
        assert_eq!(parse(&text).unwrap().typed.count, Some(3));
    }

    #[test]
    fn unknown_fields_inside_an_unchanged_field_survive_too() {
        #[derive(Serialize, Deserialize)]
        struct Outer {
            list: Vec<Sample>,
            #[serde(default)]
            n: u32,
        }
        let mut document = Document::<Outer>::parse(br#"{"list":[{"name":"a","mine":[1.0]}]}"#).unwrap();
        document.typed.n = 2;
        document.update().unwrap();
        assert_eq!(document.field("list"), Some(r#"[{"name":"a","mine":[1.0]}]"#));
        document.typed.list[0].name = "b".into();
        document.update().unwrap();
        assert_eq!(document.field("list"), Some(r#"[{"name":"b"}]"#));
    }

    #[test]
    fn hostile_json_is_refused_with_the_field_named() {
        let deep = format!(r#"{{"name":"a","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let cases = [
            ("", "file: ends in the middle"),
            (r#"{"name": "a""#, "file: ends in the middle"),
            ("[1]", "file: invalid type"),
            ("7", "file: invalid type: integer `7`"),
            (r#"{"name": "a", "z": 1, "z": 2}"#, "z: is there twice"),
            (r#"{"name": 5}"#, "name: invalid type: integer `5`, expected a string"),
            (r#"{"z": {"y": [1]}, "name": "a", "count": "b"}"#, "count: invalid type: string \"b\", expected u32"),
            ("{\n\"name\": [\n\"a\"]}", "name: invalid type: sequence, expected a string"),
            (r#"{"count": 5}"#, "missing field `name`"),
            (r#"{"name": "a"} trailing"#, "file: trailing characters"),
            (deep.as_str(), "nests deeper"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(expected), "{error} does not say {expected}");
            assert_eq!(error.exit_code(), 5);
        }
        assert!(Document::<Sample>::parse(b"{\"name\": \"\xff\"}").unwrap_err().to_string().contains("no UTF-8"));
    }
}
