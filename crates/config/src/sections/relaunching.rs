//! `[relaunch]`: when and how agents are launched with answers. The names in braces in the operator's own first message are checked when the configuration is read.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::section::section;
use askbox_mailbox::{Span, excerpt, spelling};

/// How the agent that gets an answer is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `fresh` if the question names a checkpoint, otherwise `resume`.
    #[default]
    Auto,
    /// A new session, which is told where the checkpoint is.
    Fresh,
    /// A fork of the session that asked.
    Resume,
}

section! {
    /// `[relaunch]`: when and how answers become runs.
    "relaunch" Relaunch {
        /// How an agent gets an answer. `"fresh"`: in a new session, with the checkpoint's path. `"resume"`: in a fork of the session that
        /// asked, if askbox launched it and its transcript exists, else in a new one. `"auto"`: `fresh` if the question names a checkpoint
        /// and the kind is not `"acp"`, otherwise `resume`. `relaunch status ID` says why.
        mode: Mode = Mode::Auto,
        /// The most live runs of all watchers together, at least 1. The others wait in the order of their answers. A run that a person
        /// starts by hand starts at once, and counts.
        max_concurrent: usize = 4,
        /// How many attempts of a round may fail before it is parked, at least 1. Attempts that were stopped, throttled or reached a limit
        /// do not count.
        attempts: u32 = 5,
        /// The pause after the first failed attempt, which doubles up to `backoff_max`.
        backoff: Span = Span(Duration::from_secs(10)),
        /// The longest pause between two attempts.
        backoff_max: Span = Span(Duration::from_secs(15 * 60)),
        /// How long a round is tried again while the API is overloaded or not reached, or processes are short. Then it is parked. These
        /// tries are not counted in `attempts`.
        throttle_deadline: Span = Span(Duration::from_secs(12 * 3600)),
        /// A round is parked after this many equal failures in a row. `0`: never for this reason.
        same_failure: u32 = 3,
        /// After this many failed runs within `breaker_window`, and none delivered, the queue is paused. `0`: never.
        breaker_failures: u32 = 10,
        /// The time for counting failures.
        breaker_window: Span = Span(Duration::from_secs(10 * 60)),
        /// How long the queue is paused before one run is tried. Each further pause is twice as long, up to eight times this value.
        breaker_pause: Span = Span(Duration::from_secs(5 * 60)),
        /// The prompt for a new session, with `{answer}`, and if you like `{workflow_id}`, `{checkpoint}` and `{question}`. Another name in
        /// braces is an error. A text at the beginning of a line, or of several lines, is quoted (`> `). `""`: the built-in prompt.
        /// Example: `"{question} {answer} Continue from {checkpoint}."`.
        prompt: PromptTemplate = PromptTemplate::default(),
        /// Folders that a run may use as `CLAUDE_CONFIG_DIR` if its question names them, besides the watcher's own. Example:
        /// `["/home/ann/.claude-work"]`.
        config_dirs: Vec<PathBuf> = Vec::new(),
        /// An agent runs in its question's folder only below one of these, with links resolved. Otherwise it runs in the workflow's earlier
        /// folder or the home folder. `[]`: every folder. Example: `["/home/ann/src"]`.
        cwd_roots: Vec<PathBuf> = Vec::new(),
    }
}

impl Relaunch {
    /// The pause after attempt number `attempt` (from 1) failed.
    pub fn pause(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.0.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.backoff_max.0)
    }
}

/// The names that a prompt may have in braces.
pub const NAMES: [&str; 4] = ["workflow_id", "checkpoint", "question", "answer"];

/// The prompt for a new session that gets an answer. An empty prompt means the built-in one. Any other has `{answer}`, and only names
/// in braces that askbox replaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct PromptTemplate(String);

impl PromptTemplate {
    /// The template, unless it is the built-in one.
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

/// The texts in braces that look like names: letters, digits, `_` and `-` that begin with a letter, perhaps with spaces around. They
/// are in lower case, or close to a known name.
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

    #[test]
    fn the_pause_doubles_up_to_its_maximum() {
        let relaunch = Relaunch::default();
        assert_eq!(relaunch.pause(1), Duration::from_secs(10));
        assert_eq!(relaunch.pause(3), Duration::from_secs(40));
        assert_eq!(relaunch.pause(60), Duration::from_secs(900));
    }

    fn read(text: &str) -> Result<PromptTemplate, String> {
        text.to_owned().try_into()
    }

    #[test]
    fn an_unknown_name_is_an_error_that_says_what_was_meant() {
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
