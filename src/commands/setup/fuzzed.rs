//! Rules in the text of a settings.json, for `fuzz/`.

use crate::commands::setup::change;

/// The text with these rules added.
///
/// # Errors
/// The reason why the text cannot be used.
pub fn with(text: &str, wanted: &[&str]) -> Result<String, &'static str> {
    let missing = change::missing(text, wanted)?;
    if missing.is_empty() { Ok(text.to_owned()) } else { change::with(text, &missing) }
}

/// The rules among these that are missing.
///
/// # Errors
/// The reason why the text cannot be used.
pub fn missing<'r>(text: &str, wanted: &[&'r str]) -> Result<Vec<&'r str>, &'static str> {
    change::missing(text, wanted)
}

/// The text without these rules, or `None` if it has no list of them.
pub fn without(text: &str, unwanted: &[String]) -> Option<String> {
    change::without(text, unwanted, false, false)
}
