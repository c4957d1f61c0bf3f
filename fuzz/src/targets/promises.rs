//! The promises of all documents.

use std::fmt::Debug;

use askbox::document::Document;
use askbox::{Error, text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// True if a character may control a terminal or reorder its text. The rule is written a second time here, so that a mistake in the
/// filter does not hide itself.
pub fn is_dangerous(c: char) -> bool {
    let code = c as u32;
    (code < 0x20 && c != '\n' && c != '\t')
        || (0x7f..=0x9f).contains(&code)
        || matches!(code, 0x61c | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

/// Text that goes to a terminal unchanged.
#[track_caller]
pub fn is_shown_safely(text: &str) {
    if let Some(c) = text.chars().find(|c| is_dangerous(*c)) {
        panic!("{c:?} would reach the terminal in {text:?}");
    }
}

/// One line that goes to a terminal unchanged.
#[track_caller]
pub fn is_one_safe_line(line: &str) {
    is_shown_safely(line);
    assert!(!line.contains('\n'), "more than one line: {line:?}");
}

/// An error is a line with a hint, each of bounded length.
#[track_caller]
pub fn is_a_usable_error(error: &Error) {
    let (message, hint) = (text::one_line(&error.to_string()), text::one_line(&error.hint()));
    is_one_safe_line(&message);
    is_one_safe_line(&hint);
    assert!(!message.is_empty() && !hint.is_empty(), "{error:?}");
    assert!(message.len() < 4096 && hint.len() < 4096, "a long error: {message} {hint}");
}

/// Reads a document, writes it, and checks that nothing changed: the same bytes twice, the same value, every unknown field.
pub fn document<T: DeserializeOwned + Serialize + Debug>(bytes: &[u8], same: fn(&T, &T) -> bool) -> Option<Document<T>> {
    let mut document = match Document::<T>::parse(bytes) {
        Ok(document) => document,
        Err(e) => {
            is_a_usable_error(&e);
            return None;
        }
    };
    let written = document.to_bytes();
    let again = Document::<T>::parse(&written).unwrap_or_else(|e| panic!("what was written cannot be read: {e}"));
    assert!(same(&document.typed, &again.typed), "{:?}\n{:?}", document.typed, again.typed);
    assert_eq!(written, again.to_bytes(), "written twice");
    document.update().expect("an update without a change");
    assert_eq!(written, document.to_bytes(), "an update without a change");
    assert_eq!(object(bytes), object(&written), "a field changed");
    // This version can read its own output.
    let mut own = Document::new(again.typed).expect("a new document");
    let own_bytes = own.to_bytes();
    let read = Document::<T>::parse(&own_bytes).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&own_bytes)));
    assert!(same(&read.typed, &own.typed), "{:?}\n{:?}", read.typed, own.typed);
    own.update().expect("an update without a change");
    Some(document)
}

/// Checks that all other fields than these are the same in both.
#[track_caller]
pub fn others_survive(before: &[u8], after: &[u8], changed: &[&str]) {
    let rest = |bytes| {
        let mut fields = object(bytes);
        changed.iter().for_each(|name| drop(fields.remove(*name)));
        fields
    };
    let (before, after) = (rest(before), rest(after));
    for (name, value) in &before {
        assert_eq!(after.get(name), Some(value), "the field {name:?}");
    }
}

/// The fields of a JSON object, each with its exact text.
#[track_caller]
fn object(bytes: &[u8]) -> Map<String, Value> {
    let fields: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_slice(bytes).expect("an accepted document is a JSON object");
    fields.into_iter().map(|(name, raw)| (name, Value::String(raw.get().to_owned()))).collect()
}
