//! For `fuzz/`: rules in the text of a settings.json.

use crate::surface::askbox::setup::rules;

/// The text with these rules.
///
/// # Errors
/// Why the text cannot be used.
pub fn with(text: &str, wanted: &[&str]) -> Result<String, &'static str> {
    let missing = rules::missing(text, wanted)?;
    if missing.is_empty() {
        return Ok(text.to_owned());
    }
    let insertion = rules::insertion(text, &missing);
    let mut with = text.to_owned();
    with.insert_str(insertion.at, &insertion.text);
    Ok(with)
}

/// Which of these rules are missing.
///
/// # Errors
/// Why the text cannot be used.
pub fn missing<'r>(text: &str, wanted: &[&'r str]) -> Result<Vec<&'r str>, &'static str> {
    rules::missing(text, wanted)
}

/// The text without these rules; `None` if none of them is in it.
#[must_use]
pub fn without(text: &str, unwanted: &[String]) -> Option<String> {
    rules::without(text, unwanted)
}
