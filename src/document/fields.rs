//! The fields of a JSON object, each as it is spelled.
//!
//! The text was read as JSON before, or serde_json has just written it: nothing of its grammar needs to be checked again.

use std::borrow::Cow;
use std::ops::Range;

use crate::document::{MAX_DEPTH, too_deep};
use crate::error::{Error, Result};

/// Up to so many fields each is compared with each, which is faster than sorting them; our own documents have fewer.
const FEW: usize = 48;

/// Names and values in their order.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    text: String,
    list: Vec<Field>,
}

#[derive(Debug, Clone)]
struct Field {
    name: Spelled,
    value: Spelled,
}

/// A piece of JSON: of the document's text, or put there since.
#[derive(Debug, Clone)]
enum Spelled {
    Of(Range<usize>),
    New(Box<str>),
}

impl Spelled {
    fn within<'a>(&'a self, text: &'a str) -> &'a str {
        match self {
            Self::Of(range) => &text[range.clone()],
            Self::New(json) => json,
        }
    }
}

impl Fields {
    /// Those of an object.
    ///
    /// # Errors
    /// [`Error::Invalid`] a field is there twice, or one nests too deep.
    pub(super) fn of(text: String) -> Result<Self> {
        let mut list = Vec::with_capacity(24);
        scan(&text, |name, value| list.push(Field { name: Spelled::Of(name), value: Spelled::Of(value) }))?;
        let fields = Self { text, list };
        fields.check_names()?;
        Ok(fields)
    }

    /// What they were read from.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// A field's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|field| self.is(field, name)).map(|field| field.value.within(&self.text))
    }

    /// Sets a field to a value of ours.
    pub(super) fn put(&mut self, name: &str, value: &str) {
        let value = Spelled::New(value.into());
        match self.list.iter().position(|field| self.is(field, name)) {
            Some(n) => self.list[n].value = value,
            None => self.list.push(Field { name: Spelled::New(quoted(name)), value }),
        }
    }

    /// Carries over what changed between two objects of ours; the rest keeps its own spelling (1.0, "\u00e9").
    pub(super) fn merge(&mut self, before: &str, now: &str) -> Result<()> {
        let (before, now) = (pairs(before)?, pairs(now)?);
        let gone = |name: &str| before.iter().any(|(b, _)| b == name) && !now.iter().any(|(n, _)| n == name);
        let text = &self.text;
        self.list.retain(|field| !gone(&unquoted(field.name.within(text))));
        for (name, value) in now.iter().filter(|pair| !before.contains(pair)) {
            self.put(name, value);
        }
        Ok(())
    }

    /// One field a line.
    pub(super) fn lines(&self) -> Vec<u8> {
        let mut lines = Lines::new(self.text.len() + 64);
        self.list.iter().for_each(|field| lines.add(field.name.within(&self.text), field.value.within(&self.text)));
        lines.end()
    }

    fn is(&self, field: &Field, name: &str) -> bool {
        is(field.name.within(&self.text), name)
    }

    fn name<'a>(&'a self, field: &'a Field) -> Cow<'a, str> {
        unquoted(field.name.within(&self.text))
    }

    fn check_names(&self) -> Result<()> {
        let mut names: Vec<_> = self.list.iter().map(|field| self.name(field)).collect();
        let twice = if names.len() <= FEW {
            names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)).map(|(_, name)| name)
        } else {
            names.sort_unstable();
            names.windows(2).find(|two| two[0] == two[1]).map(|two| &two[0])
        };
        twice.map_or(Ok(()), |name| Err(Error::invalid(crate::text::excerpt(name, 60), "is there twice", "keep one of the two")))
    }
}

/// A field's value in an object of ours.
pub(super) fn find<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    let _ = scan(json, |n, value| {
        if is(&json[n], name) {
            found = Some(&json[value]);
        }
    });
    found
}

/// An object of ours as it is written: one field a line, in order, with a newline at the end.
pub(super) fn lines(json: &str) -> Vec<u8> {
    let mut lines = Lines::new(json.len() + 128);
    // What we wrote does not nest too deep.
    let _ = scan(json, |name, value| lines.add(&json[name], &json[value]));
    lines.end()
}

struct Lines(Vec<u8>);

impl Lines {
    fn new(size: usize) -> Self {
        let mut out = Vec::with_capacity(size);
        out.push(b'{');
        Self(out)
    }

    fn add(&mut self, name: &str, value: &str) {
        let comma = if self.0.len() == 1 { "\n  " } else { ",\n  " };
        for piece in [comma, name, ": ", value] {
            self.0.extend_from_slice(piece.as_bytes());
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"\n}\n");
        self.0
    }
}

fn pairs(json: &str) -> Result<Vec<(Cow<'_, str>, &str)>> {
    let mut pairs = Vec::with_capacity(24);
    scan(json, |name, value| pairs.push((unquoted(&json[name]), &json[value])))?;
    Ok(pairs)
}

/// Tells where each field's name and value are.
fn scan(json: &str, mut field: impl FnMut(Range<usize>, Range<usize>)) -> Result<()> {
    let mut at = space_end(json, 0) + 1;
    loop {
        let name = space_end(json, at);
        if json.as_bytes().get(name) != Some(&b'"') {
            return Ok(());
        }
        let colon = string_end(json, name);
        let value = space_end(json, space_end(json, colon) + 1);
        let end = value_end(json, value)?;
        if json.get(name..colon).is_none() || json.get(value..end).is_none() {
            return Ok(());
        }
        field(name..colon, value..end);
        // Behind the comma, or behind all.
        at = space_end(json, end) + 1;
    }
}

fn space_end(json: &str, from: usize) -> usize {
    let bytes = json.as_bytes();
    let mut at = from;
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// What comes behind the string that begins there.
fn string_end(json: &str, quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(ahead) = json.get(at..).and_then(|rest| rest.find('"')) {
        let slashes = json.as_bytes()[at..at + ahead].iter().rev().take_while(|byte| **byte == b'\\').count();
        at += ahead + 1;
        if slashes % 2 == 0 {
            return at;
        }
    }
    json.len()
}

/// What comes behind the value that begins there.
fn value_end(json: &str, from: usize) -> Result<usize> {
    let (mut at, mut depth) = (from, 0);
    while let Some(byte) = json.as_bytes().get(at) {
        match byte {
            b'"' => at = string_end(json, at) - 1,
            b'{' | b'[' => {
                depth += 1;
                // The object around it counts as well.
                if depth >= MAX_DEPTH {
                    return Err(too_deep());
                }
            }
            b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Ok(at)
}

fn is(spelled: &str, name: &str) -> bool {
    spelled.get(1..spelled.len() - 1) == Some(name) && !name.contains('\\') || spelled.contains('\\') && unquoted(spelled) == name
}

fn quoted(name: &str) -> Box<str> {
    serde_json::Value::from(name).to_string().into()
}

fn unquoted(name: &str) -> Cow<'_, str> {
    match name.contains('\\') {
        true => Cow::Owned(serde_json::from_str(name).unwrap_or_default()),
        false => Cow::Borrowed(name.get(1..name.len() - 1).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_json_reads_falls_into_its_fields_however_it_is_spaced() {
        let value =
            serde_json::json!({"a": "}],:\\\"{", "b\"c": {"x": [1, {"y": "]"}], "z": {}}, "": [], "e": null, "ü": 1.5, "q\\": "\\\\"});
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap(), format!("\t{value} \r\n")] {
            let fields = pairs(&text).unwrap();
            let read: serde_json::Map<_, _> =
                fields.iter().map(|(name, value)| (name.to_string(), serde_json::from_str(value).unwrap())).collect();
            assert_eq!(serde_json::Value::Object(read), value, "{text}");
            assert!(fields.iter().all(|(_, value)| value.trim() == *value), "{text}");
        }
        assert!(pairs("{}").unwrap().is_empty() && pairs(" { \n}").unwrap().is_empty());
    }

    #[test]
    fn a_name_spelled_in_two_ways_is_there_twice() {
        let many: String = (0..100).map(|n| format!("\"n{n}\": 1, ")).collect();
        for text in [r#"{"ab": 1, "\u0061b": 2}"#.to_owned(), format!(r#"{{{many}"n7": 2}}"#)] {
            assert!(Fields::of(text).unwrap_err().to_string().contains("is there twice"));
        }
        assert_eq!(Fields::of(format!(r#"{{{many}"x": 2}}"#)).unwrap().get("x"), Some("2"));
    }

    #[test]
    fn no_text_makes_the_scan_panic_or_go_on_for_ever() {
        for text in ["", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\": [", "{\"a\": \"\\", "[1]", "{\"a\":1,", "ü", "{\"a\"ü:1}", "}}"]
        {
            let _ = pairs(text);
        }
    }
}
