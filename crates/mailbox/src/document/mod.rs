//! JSON documents on disk. The fields that this version knows are typed. All other fields are kept as they are written.
//!
//! An unknown field survives every rewrite byte for byte: its name, its value, and its place among the other fields. The bytes of a
//! document may come from anybody. So these are errors: bytes that are not UTF-8, a field that appears twice, nesting deeper than
//! [`MAX_DEPTH`], and anything but an object. A byte order mark in front is skipped. An error names the field by its path (`questions[2].type`) and says how to mend it.

use std::path::Path;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{Error, Result, disk, text};

pub(crate) mod numbers;

/// The version that is written into `schema_version`. A document without the field is version 1.
pub const SCHEMA_VERSION: u32 = 1;

/// The deepest nesting of arrays and objects that a reader accepts.
pub const MAX_DEPTH: usize = 64;

/// A type of document that is kept in a file of the mailbox.
pub trait Stored: DeserializeOwned + Serialize {
    /// The largest file that any reader reads, in bytes. A new document must be smaller, to leave room for everything that is added
    /// later: see the types.
    const LARGEST: u64;
}

/// A JSON object: its known fields as a `T`, and all of its fields in their order.
#[derive(Debug, Clone)]
pub struct Document<T> {
    /// The known fields. Call [`update`](Self::update) to carry a change over into the document.
    pub typed: T,
    fields: Fields,
    before: Before,
}

/// The state of `typed` when it was read, or when it was last carried over into the fields.
#[derive(Debug, Clone)]
enum Before {
    /// The source text of `typed`. It is parsed again only when a document changes, and most never do.
    Read(String),
    /// The typed fields as JSON.
    CarriedOver(String),
}

impl<T: DeserializeOwned + Serialize> Document<T> {
    /// Reads a document.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field and the fix. The caller adds the file with [`Error::in_file`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let text = utf8(bytes)?;
        check_depth(text)?;
        Ok(Self { fields: Fields::parse(text)?, typed: typed(text)?, before: Before::Read(text.to_owned()) })
    }

    /// Returns a new document with the fields of `typed`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `typed` cannot be written as a JSON object.
    pub fn new(typed: T) -> Result<Self> {
        let mut document = Self::draft(typed);
        document.update()?;
        Ok(document)
    }

    /// Returns a new document without any field. [`update`](Self::update) adds the fields of `typed`.
    pub fn draft(typed: T) -> Self {
        Self { typed, fields: Fields(IndexMap::new()), before: Before::CarriedOver("{}".into()) }
    }

    /// Carries the changes in `typed` over into the document. A field keeps its text, with any unknown fields inside of it, if its
    /// typed value has not changed.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `typed` cannot be written as a JSON object.
    pub fn update(&mut self) -> Result<()> {
        let now = to_text(&self.typed)?;
        let before = match &self.before {
            Before::Read(text) => Fields::parse(&to_text(&typed::<T>(text)?)?)?.0,
            Before::CarriedOver(json) => Fields::parse(json)?.0,
        };
        let after = Fields::parse(&now)?.0;
        if self.fields.0.is_empty() && before.is_empty() {
            (self.fields, self.before) = (Fields(after), Before::CarriedOver(now));
            return Ok(());
        }
        self.fields.0.retain(|name, _| !before.contains_key(name) || after.contains_key(name));
        for (name, field) in after {
            if before.get(&name).is_none_or(|old| old.value.get() != field.value.get()) {
                self.fields.set(name, field);
            }
        }
        self.before = Before::CarriedOver(now);
        Ok(())
    }
}

impl<T: Stored> Document<T> {
    /// Reads a file of the mailbox. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file is not a `T`. [`Error::Io`] if the system refuses.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        disk::if_there(disk::read(path, T::LARGEST))?.map(|bytes| Self::parse(&bytes).map_err(|e| e.in_file(path))).transpose()
    }

    /// Returns the bytes of the file, as [`to_bytes`](Self::to_bytes) does. Reads them first as every reader would, so no file is
    /// written that cannot be read again.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bytes are longer than `T::LARGEST`, nest deeper than [`MAX_DEPTH`], or cannot be read as a `T`.
    pub fn to_file(&self) -> Result<Vec<u8>> {
        self.to_file_within(T::LARGEST)
    }

    /// [`to_file`](Self::to_file) with a lower limit in bytes, which leaves room for what is added later.
    ///
    /// # Errors
    /// Those of [`to_file`](Self::to_file), with this limit.
    pub fn to_file_within(&self, limit: u64) -> Result<Vec<u8>> {
        let bytes = self.to_bytes();
        let limit = limit.min(T::LARGEST);
        if bytes.len() as u64 > limit {
            return Err(too_long(bytes.len(), limit));
        }
        // Only the typed fields are read again. The types of the other fields already ensure unique names and valid JSON values.
        let text = utf8(&bytes)?;
        check_depth(text)?;
        typed::<T>(text)?;
        Ok(bytes)
    }
}

impl<T> Document<T> {
    /// Returns the JSON of a field as it is written. `None` if the document has no such field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.0.get(name).map(|field| field.value.get())
    }

    /// Returns the `schema_version` if a newer askbox wrote the document, else `None`.
    pub fn newer_version(&self) -> Option<u64> {
        self.field("schema_version")?.parse().ok().filter(|version| is_newer(*version))
    }

    /// Returns the names of all fields, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.0.keys().map(String::as_str)
    }

    /// Sets one field of the document. Does not change `typed`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value cannot be written as JSON.
    pub fn set_field(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        self.fields.set(name.to_owned(), Field { name: raw(&name)?, value: raw(value)? });
        Ok(())
    }

    /// Returns the bytes of the file: one field a line, in their order.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.fields.0.values().map(|f| f.name.get().len() + f.value.get().len() + 6).sum::<usize>() + 4);
        bytes.extend_from_slice(b"{\n");
        for (n, field) in self.fields.0.values().enumerate() {
            let comma = if n == 0 { "" } else { ",\n" };
            [comma, "  ", field.name.get(), ": ", field.value.get()].iter().for_each(|piece| bytes.extend_from_slice(piece.as_bytes()));
        }
        bytes.extend_from_slice(b"\n}\n");
        bytes
    }
}

/// Reads the typed fields.
///
/// The path of each field is followed on the way, although only an error needs it. To read without the path first would save a twentieth of
/// the instructions of an answer, and would make each program 160 KB longer: every type would be read by two kinds of code.
fn typed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(|e| wrong_field(&e))
}

/// Returns the error for a document of `bytes` bytes that would be longer than `limit` bytes: an [`Error::Invalid`].
pub fn too_long(bytes: usize, limit: u64) -> Error {
    let problem = format!("makes a document of {bytes} bytes, the limit is {limit}");
    Error::invalid("file", problem, "put the bulk into a file of its own and name its path")
}

/// The fields of a JSON object by their names, in their order.
#[derive(Debug, Clone)]
struct Fields(IndexMap<String, Field>);

/// The name and the value of a field, each as it is written: `"caf\u00e9"`, `1.50`.
#[derive(Debug, Clone)]
struct Field {
    name: Box<RawValue>,
    value: Box<RawValue>,
}

impl Fields {
    fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| not_json(&e))
    }

    /// Adds a field, or changes the value of the field with that name.
    fn set(&mut self, name: String, field: Field) {
        match self.0.get_mut(&name) {
            Some(old) => old.value = field.value,
            None => drop(self.0.insert(name, field)),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                use serde::de::Error as _;
                let mut fields = IndexMap::new();
                while let Some((name, value)) = map.next_entry::<Box<RawValue>, Box<RawValue>>()? {
                    let plain: String = serde_json::from_str(name.get()).map_err(A::Error::custom)?;
                    match fields.entry(plain) {
                        Entry::Occupied(twice) => return Err(A::Error::custom(format!("duplicate field `{}`", twice.key()))),
                        Entry::Vacant(new) => drop(new.insert(Field { name, value })),
                    }
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Reads a JSON object. Returns `None` for anything that is not an object of this shape. For lines of a log, which may be torn.
pub fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    // Without this check, serde would also accept an array with the struct's fields in their order.
    let text = std::str::from_utf8(text::without_bom(bytes)).ok()?;
    text.trim_ascii_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// Returns the `schema_version` if a newer askbox wrote the document, else `None`. Reads no other field.
pub fn newer_version(bytes: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Versioned {
        schema_version: u64,
    }
    json::<Versioned>(bytes).map(|document| document.schema_version).filter(|version| is_newer(*version))
}

fn is_newer(version: u64) -> bool {
    version > u64::from(SCHEMA_VERSION)
}

/// Returns a value as JSON, on one line.
///
/// # Errors
/// [`Error::Invalid`] if the value cannot be written as JSON.
pub fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    to_text(value).map(String::into_bytes)
}

fn to_text(value: &impl Serialize) -> Result<String> {
    let mut json = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut json, numbers::Compact)).map_err(|e| not_json(&e))?;
    String::from_utf8(json).map_err(|e| not_json(&serde::de::Error::custom(e)))
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>> {
    RawValue::from_string(to_text(value)?).map_err(|e| not_json(&e))
}

/// Returns the bytes as text, without a byte order mark.
///
/// # Errors
/// [`Error::Invalid`] if they are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(text::without_bom(bytes))
        .map_err(|e| Error::invalid("file", format!("is not valid UTF-8 (byte {})", e.valid_up_to()), "save it as UTF-8"))
}

/// Refuses JSON that nests deeper than [`MAX_DEPTH`]. The check is needed because serde_json has no limit when it skips a value or
/// keeps it as it is written.
///
/// # Errors
/// [`Error::Invalid`] if the JSON nests deeper.
pub fn check_depth(text: &str) -> Result<()> {
    // Most documents have fewer brackets than the allowed number of levels.
    if memchr::memchr2_iter(b'[', b'{', text.as_bytes()).nth(MAX_DEPTH).is_none() {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Error::invalid("file", format!("nests deeper than {MAX_DEPTH} levels"), "flatten it"));
        }
    }
    Ok(())
}

/// Returns the error for a text that is not one JSON object.
fn not_json(e: &serde_json::Error) -> Error {
    let message = without_position(e);
    if let Some(name) = duplicate(&message) {
        return appears_twice(name);
    }
    let problem = if e.is_eof() { "ends in the middle of the JSON" } else { &message };
    let problem = format!("{problem} (line {}, column {})", e.line(), e.column());
    Error::invalid("file", problem, "write one complete JSON object; check it with: jq . FILE")
}

/// The messages of `chrono` for a text that is not an RFC 3339 time. They do not say that a time is wanted.
const NO_TIME: [&str; 5] = [
    "premature end of input",
    "input contains invalid characters",
    "trailing input",
    "input is out of range",
    "input is not enough for unique date and time",
];

/// Returns the error for a JSON object that does not have the type's shape.
fn wrong_field(e: &serde_path_to_error::Error<serde_json::Error>) -> Error {
    let message = without_position(e.inner());
    let path = text::excerpt(&e.path().to_string(), 120);
    if let Some(name) = duplicate(&message) {
        return appears_twice(&format!("{path}.{name}"));
    }
    let is_no_time = NO_TIME.contains(&message.as_str());
    let message = if is_no_time { "is not a time with its offset from UTC".to_owned() } else { message };
    let fix = if is_no_time {
        "write a time such as 2026-11-23T18:00:00Z or 2026-11-23T18:00:00+01:00"
    } else if message.ends_with("beside `label`") {
        "keep `label`, the text that is the answer, and put its meaning into `description`"
    } else if message.starts_with("missing field") {
        "add the field"
    } else if message.starts_with("unknown variant") {
        "use one of the values named"
    } else if message.ends_with("is there twice") {
        "keep one of the two"
    } else {
        "see docs/dev/protocol.md for what the field holds"
    };
    Error::invalid(if path == "." { "file" } else { &path }, message, fix)
}

fn appears_twice(field: &str) -> Error {
    Error::invalid(text::excerpt(field, 120), "is there twice", "keep one of the two")
}

fn duplicate(message: &str) -> Option<&str> {
    message.strip_prefix("duplicate field `")?.strip_suffix('`')
}

/// Returns the message without serde_json's ` at line L column C`.
fn without_position(e: &serde_json::Error) -> String {
    let message = e.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    text::excerpt(&in_plain_words(&message[..end]), 200)
}

/// Returns a parser's message with the expected Rust type in plain words: "a whole number" for `i64`.
pub fn in_plain_words(message: &str) -> String {
    let Some((said, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        other => other,
    };
    format!("{said}, expected {expected}")
}

#[cfg(test)]
mod tests;
