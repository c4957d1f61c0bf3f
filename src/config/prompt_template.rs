//! `relaunch.prompt`: the operator's own first message, whose names in braces are checked when the configuration is read.

use serde::{Deserialize, Serialize};

use crate::spelling;
use crate::text::excerpt;

/// The names that a prompt may have in braces.
pub const NAMES: [&str; 4] = ["workflow_id", "checkpoint", "question", "answer"];

/// The prompt for a new session that gets an answer. Empty: the built-in one. Otherwise it has `{answer}`, and no name but those that askbox replaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct PromptTemplate(String);

impl PromptTemplate {
    /// The template, unless it is the built-in one.
    #[must_use]
    pub fn own(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }
}

impl TryFrom<String> for PromptTemplate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(text));
        }
        if let Some(unknown) = names(&text).find(|name| !NAMES.contains(name)) {
            let meant = NAMES.iter().find(|name| spelling::is_close(unknown, name));
            let meant = meant.map_or(String::new(), |name| format!("; did you mean {{{name}}}?"));
            return Err(format!("there is no {{{}}}, only {{{}}}{meant}", excerpt(unknown, 40), NAMES.join("}, {")));
        }
        if !names(&text).any(|name| name == "answer") {
            return Err("{answer} is missing: the agent would not get the answer".into());
        }
        Ok(Self(text))
    }
}

/// What stands in braces and looks like a name: letters, digits, `_` and `-` that begin with a letter, in lower case or close to a known
/// name, perhaps with spaces around.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(|(at, _)| {
        let inner = &text[at + 1..];
        let inner = &inner[..inner.find(['{', '}'])?];
        let name = inner.trim();
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let closed = text[at + 1 + inner.len()..].starts_with('}');
        let is_meant = !name.chars().any(|c| c.is_ascii_uppercase()) || NAMES.iter().any(|known| spelling::is_misspelt(name, known));
        (closed && is_word && is_meant).then_some(inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PromptTemplate, String> {
        text.to_owned().try_into()
    }

    #[test]
    fn a_name_that_is_not_known_is_an_error_that_says_what_was_meant() {
        for (text, meant) in [
            ("{anwser}", "{answer}"),
            ("{Answer} {answer}", "{answer}"),
            ("{ answer }", "{answer}"),
            ("{answer} {workflow-id}", "{workflow_id}"),
        ] {
            assert!(read(text).unwrap_err().ends_with(&format!("did you mean {meant}?")), "{text}: {:?}", read(text));
        }
        assert!(read("{answer} {foo}").unwrap_err().starts_with("there is no {foo}, only {workflow_id}, {checkpoint}"));
        assert!(read("Go on.").unwrap_err().contains("{answer} is missing"));
    }

    #[test]
    fn other_braces_stand_for_themselves() {
        for text in [
            "",
            "{answer}",
            "{answer} {\"a\": {\"b\": 1}} {} {0} ${HOME} {a b} {",
            "{{answer}}",
            "{question}{answer}{checkpoint}{workflow_id}",
        ] {
            assert!(read(text).is_ok(), "{text}: {:?}", read(text));
        }
    }
}
