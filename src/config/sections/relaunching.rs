//! `[relaunch]`: when and how answers become runs.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::prompt_template::PromptTemplate;
use crate::config::section::section;
use crate::time::Span;

/// How the agent that gets an answer is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        /// How the agent that gets an answer is started. `"fresh"`: in a new session, which is told where the checkpoint is. `"resume"`: in
        /// a fork of the session that asked, if askbox launched that session, for this workflow or provably for the one within which this
        /// was asked, and its transcript exists; otherwise in a new session, and the log says why. `"auto"`: `fresh` if the question names a checkpoint, otherwise `resume`.
        mode: Mode = Mode::Auto,
        /// How many runs may be live at the same time, at least 1, whichever watcher launched them. The other rounds wait in the order of
        /// their answers. What a person runs by hand (`relaunch ID`, `run`, `retry`) starts at once, and counts.
        max_concurrent: usize = 4,
        /// How many attempts of a round may fail, at least 1. After the last one the round is parked until `relaunch retry`. An attempt
        /// that was stopped, was throttled or reached a limit is not counted.
        attempts: u32 = 5,
        /// The pause after the first failed attempt. The pause doubles with each further failure, up to `backoff_max`.
        backoff: Span = Span(Duration::from_secs(10)),
        /// The longest pause between two attempts.
        backoff_max: Span = Span(Duration::from_secs(15 * 60)),
        /// While the API is overloaded, limits the rate or cannot be reached, or the machine is short of processes, a round is tried again in the same session for at most this
        /// time, and then parked. These tries are not counted in `attempts`.
        throttle_deadline: Span = Span(Duration::from_secs(12 * 3600)),
        /// A round is parked after this many equal failures in a row, even if `attempts` would allow more. `0`: never for this reason.
        same_failure: u32 = 3,
        /// If this many runs fail within `breaker_window` and none is delivered in between, the watcher pauses the whole queue for
        /// `breaker_pause`. `0`: the queue is never paused.
        breaker_failures: u32 = 10,
        /// The time within which `breaker_failures` are counted; more than zero.
        breaker_window: Span = Span(Duration::from_secs(10 * 60)),
        /// How long the queue is paused; more than zero. Then one run is tried. If it is delivered, the queue goes on. If it fails, the next
        /// pause is twice as long, up to eight times this value.
        breaker_pause: Span = Span(Duration::from_secs(5 * 60)),
        /// The prompt for a new session that gets an answer. `{workflow_id}`, `{checkpoint}`, `{question}` and `{answer}` are replaced;
        /// `{answer}` must be there, and another name in braces is an error. Braces around anything but a name of lower-case letters
        /// stand for themselves. `""`: the built-in prompt. Example: `"{question} {answer} Continue from {checkpoint}."`.
        prompt: PromptTemplate = PromptTemplate::default(),
        /// Folders that a run may use as its `CLAUDE_CONFIG_DIR`, beside the watcher's own. A question that names any other folder runs
        /// without it, and the log says so. Example: `["/home/ann/.claude-work"]`.
        config_dirs: Vec<PathBuf> = Vec::new(),
        /// An agent runs in the folder that its question names only if that folder lies under one of these after links are resolved;
        /// otherwise it runs in the folder of the workflow's earlier runs or in the home folder. This is checked again at each launch: a
        /// round whose folder leads elsewhere by then is parked. `[]`: every folder is allowed. Example: `["/home/ann/src"]`.
        cwd_roots: Vec<PathBuf> = Vec::new(),
    }
}

impl Relaunch {
    /// The longest pause between two attempts. While the API is overloaded it may ask for one up to `throttle_deadline`.
    #[must_use]
    pub fn longest_pause(&self) -> Duration {
        self.backoff_max.0.max(self.throttle_deadline.0)
    }

    /// The pause after attempt number `attempt` (from 1) failed.
    #[must_use]
    pub fn pause(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.0.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.backoff_max.0)
    }
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
}
