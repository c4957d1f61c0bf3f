//! The test vectors of the protocol, as they lie in `docs/vectors/`.

use serde_json::Value;

use crate::conformance::verdict::Verdict;
use askbox_mailbox::Error;

macro_rules! vectors {
    ($($name:literal),+ $(,)?) => {
        /// The names and texts of the vectors of questions with their answers.
        const QUESTIONS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../docs/vectors/", $name, ".json")))),+];
    };
}

vectors![
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

/// Workflow ids that are valid, and such that are not.
pub fn ids() -> Verdict<(Vec<String>, Vec<String>)> {
    let rules = parse(include_str!("../../../../docs/vectors/rules/ids.json"))?;
    let texts = |name: &str| list(&rules[name]).iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
    Ok((texts("valid"), texts("invalid")))
}

/// Questions that are valid, and such that are not, with the reason.
pub fn posts() -> Verdict<(Vec<Value>, Vec<Value>)> {
    let rules = parse(include_str!("../../../../docs/vectors/rules/questions.json"))?;
    Ok((list(&rules["valid"]), list(&rules["invalid"])))
}

/// Questions without `question_id`, each with a number and the id of that round.
pub fn derived() -> Verdict<Vec<Value>> {
    Ok(list(&parse(include_str!("../../../../docs/vectors/rules/derived.json"))?["derived"]))
}

/// The stripes of some workflows.
pub fn stripes() -> Verdict<Vec<(String, String)>> {
    let rules = parse(include_str!("../../../../docs/vectors/rules/stripes.json"))?;
    let stripes = rules["stripes"].as_object().into_iter().flatten();
    Ok(stripes.filter_map(|(id, name)| Some((id.clone(), name.as_str()?.to_owned()))).collect())
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn parse(text: &str) -> Verdict<Value> {
    Ok(serde_json::from_str(text).map_err(|e| Error::failed(format!("a vector is not JSON: {e}"), "build askbox again"))?)
}
