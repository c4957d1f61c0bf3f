//! Rules in the text of a settings.json, for `fuzz/`.

use crate::commands::setup::rules;

/// The text with these rules added.
///
/// # Errors
/// The reason why the text cannot be used.
pub fn with(text: &str, wanted: &[&str]) -> Result<String, &'static str> {
    let missing = rules::missing(text, wanted)?;
    if missing.is_empty() { Ok(text.to_owned()) } else { rules::with(text, &missing) }
}

/// The rules among these that are missing.
///
/// # Errors
/// The reason why the text cannot be used.
pub fn missing<'r>(text: &str, wanted: &[&'r str]) -> Result<Vec<&'r str>, &'static str> {
    rules::missing(text, wanted)
}

/// The text without these rules, or `None` if it has no list of them.
pub fn without(text: &str, unwanted: &[String]) -> Option<String> {
    rules::without(text, unwanted, false, false)
}
