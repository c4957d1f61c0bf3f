//! The test vectors of the protocol, as they lie in `docs/vectors/`.

use serde_json::Value;

use crate::conformance::verdict::Verdict;
use askbox_mailbox::Error;

macro_rules! files {
    ($constant:ident: $folder:literal, $($name:literal),+ $(,)?) => {
        /// The names and texts of files.
        const $constant: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../docs/vectors/", $folder, $name, ".json")))),+];
    };
}

files![
    QUESTIONS: "",
    "accepted-approval",
    "accepted-asked-back",
    "accepted-attachments",
    "accepted-batch",
    "accepted-choice",
    "accepted-edited-call",
    "accepted-number",
    "accepted-numbers",
    "accepted-refusal",
    "accepted-refusal-for-good",
    "accepted-ssh-key",
    "accepted-stopped-turn",
    "accepted-text",
    "refused-added-always",
    "refused-changed-attachment",
    "refused-changed-checkpoint",
    "refused-changed-context",
    "refused-changed-edit",
    "refused-changed-question",
    "refused-changed-value",
    "refused-lying-options",
    "refused-ssh-namespace",
    "refused-unsigned",
    "refused-wrong-key",
    "refused-wrong-round",
];

/// Every vector of a question and its answer, with its name.
pub fn questions() -> Verdict<Vec<(&'static str, Value)>> {
    QUESTIONS.iter().map(|(name, text)| Ok((*name, parse(text)?))).collect()
}

files![RULES: "rules/", "checkpoints", "derived", "documents", "ids", "questions", "stripes", "values"];

fn file(name: &str) -> Verdict<Value> {
    parse(RULES.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text))
}

/// A list of a file of rules.
pub fn rules(name: &str, list_of: &str) -> Verdict<Vec<Value>> {
    Ok(list(&file(name)?[list_of]))
}

/// Texts of a file of rules.
pub fn texts(name: &str, list_of: &str) -> Verdict<Vec<String>> {
    Ok(rules(name, list_of)?.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
}

/// The stripes of some workflows.
pub fn stripes() -> Verdict<Vec<(String, String)>> {
    let stripes = file("stripes")?;
    Ok(stripes["stripes"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(id, name)| Some((id.clone(), name.as_str()?.to_owned())))
        .collect())
}

/// The elements of a list, or none.
pub fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn parse(text: &str) -> Verdict<Value> {
    Ok(serde_json::from_str(text).map_err(|e| Error::failed(format!("a vector is not JSON: {e}"), "build askbox again"))?)
}
