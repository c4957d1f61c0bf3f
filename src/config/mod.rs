//! The operator's configuration: `$ASKBOX_CONFIG`, else `$XDG_CONFIG_HOME/askbox/config.toml`. Every key is optional.
//! What is executed comes from here alone, never from a question.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::{Error, Result};
use crate::time::Span;

/// The largest configuration file, in bytes.
pub const MAX_CONFIG: u64 = 1 << 20;

/// How a relaunched agent gets its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Fresh where the question carries a checkpoint, resume where it does not and the asker was a run of ours.
    #[default]
    Auto,
    /// A new session that reads the checkpoint.
    Fresh,
    /// A fork of the asker's session, if askbox launched that.
    Resume,
}

/// Everything that can be configured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// `[relaunch]`
    pub relaunch: Relaunch,
    /// `[runner]`
    pub runner: Runners,
    /// `[limits]`
    pub limits: Limits,
    /// `[chain]`
    pub chain: Chain,
    /// `[notify]`
    pub notify: Notify,
    /// `[history]`
    pub history: History,
    /// `[log]`
    pub log: Log,
    /// `[metrics]`
    pub metrics: Metrics,
}

/// `[relaunch]`: when and how answered questions become runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Relaunch {
    /// fresh, resume or auto.
    pub mode: Mode,
    /// Runs at the same time.
    pub max_concurrent: usize,
    /// Attempts before a round is parked.
    pub attempts: u32,
    /// The pause after the first failed attempt; it doubles with each.
    pub backoff: Span,
    /// The longest pause.
    pub backoff_max: Span,
    /// How long a round may be throttled by the API before it is parked.
    pub throttle_deadline: Span,
    /// The same failure so many times in a row parks a round; 0 for never.
    pub same_failure: u32,
    /// So many failures within the window pause the queue; 0 for never.
    pub breaker_failures: u32,
    /// The window.
    pub breaker_window: Span,
    /// The pause before one run is tried.
    pub breaker_pause: Span,
    /// The template of the fresh prompt; empty for the built-in one.
    pub prompt: String,
    /// Other `CLAUDE_CONFIG_DIR`s that a question may name, beside the watcher's own.
    pub config_dirs: Vec<PathBuf>,
    /// The folders under which a question may have its agent run; empty for any.
    pub cwd_roots: Vec<PathBuf>,
}

impl Default for Relaunch {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            max_concurrent: 4,
            attempts: 5,
            backoff: Span(Duration::from_secs(10)),
            backoff_max: Span(Duration::from_secs(15 * 60)),
            throttle_deadline: Span(Duration::from_secs(12 * 3600)),
            same_failure: 3,
            breaker_failures: 10,
            breaker_window: Span(Duration::from_secs(10 * 60)),
            breaker_pause: Span(Duration::from_secs(5 * 60)),
            prompt: String::new(),
            config_dirs: Vec::new(),
            cwd_roots: Vec::new(),
        }
    }
}

impl Relaunch {
    /// The pause after attempt number `attempt` (from 1) failed.
    #[must_use]
    pub fn pause(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.0.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.backoff_max.0)
    }
}

/// `[runner]`: the programs that are launched.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Runners {
    /// The name of the one to use.
    pub default: String,
    /// `[runner.NAME]`.
    #[serde(flatten)]
    pub named: BTreeMap<String, Runner>,
}

impl Default for Runners {
    fn default() -> Self {
        Self { default: "claude".into(), named: BTreeMap::new() }
    }
}

/// `[runner.NAME]`: one agent program. It speaks Claude Code's stream-json on standard input and output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Runner {
    /// The program: a path, or a name on PATH. `claude` where it is empty.
    pub program: String,
    /// More arguments, behind the ones of askbox.
    pub args: Vec<String>,
    /// More environment.
    pub env: BTreeMap<String, String>,
    /// `--permission-mode`; empty for the agent's own default.
    pub permission_mode: String,
    /// What the agent may call without asking.
    #[serde(default = "default_tools")]
    pub allowed_tools: Vec<String>,
    /// Bypass every permission check (`--dangerously-skip-permissions`).
    pub dangerously_skip_permissions: bool,
}

fn default_tools() -> Vec<String> {
    crate::agent::claude::DEFAULT_ALLOWED_TOOLS.map(String::from).to_vec()
}

/// `[limits]`: where a run ends that does not end by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Wall time of one run.
    pub run_time: Span,
    /// Time without any sign of life.
    pub silence: Span,
    /// A silence that is told as an event `silent`.
    pub silent_after: Span,
    /// From a polite stop to the next rung of the ladder.
    pub grace: Span,
    /// API round trips of one launch; 0 for no limit.
    pub turns: u32,
    /// US dollars of one round, all its attempts together; 0 for no limit.
    pub run_cost: f64,
    /// US dollars of one workflow, all its rounds together; 0 for no limit.
    pub workflow_cost: f64,
    /// US dollars of one whole tree of workflows; 0 for no limit.
    pub tree_cost: f64,
    /// Time in which at least one run of a tree is at work; 0s for no limit.
    pub tree_time: Span,
    /// US dollars of one day (UTC), everything together; 0 for no limit.
    pub day_cost: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run_time: Span(Duration::from_secs(6 * 3600)),
            silence: Span(Duration::from_secs(3600)),
            silent_after: Span(Duration::from_secs(30)),
            grace: Span(Duration::from_secs(30)),
            turns: 0,
            run_cost: 0.0,
            workflow_cost: 0.0,
            tree_cost: 0.0,
            tree_time: Span(Duration::ZERO),
            day_cost: 0.0,
        }
    }
}

/// `[chain]`: how far a tree of workflows may grow.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Chain {
    /// Levels, the first one included.
    pub max_depth: usize,
    /// For how many children one workflow may wait.
    pub max_children: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Self { max_depth: 8, max_children: 16 }
    }
}

/// `[notify]`: a program that tells the human.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Notify {
    /// Run with the event as its last argument and the question's document on standard input; empty for none.
    pub command: Vec<String>,
}

/// How the watcher writes its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// `[log]`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Log {
    /// text or json.
    pub format: LogFormat,
}

/// `[metrics]`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Metrics {
    /// Where the watcher keeps the figures for Prometheus; empty for nowhere.
    pub file: PathBuf,
}

/// One key of the file: its path, its default and what it means. `*` stands for a runner's name.
pub const KEYS: &[(&str, &str, &str)] = &[
    (
        "relaunch.mode",
        "\"auto\"",
        "how an agent gets its context: \"fresh\" (a new session reads the checkpoint), \"resume\" (a fork of the asker's session, if askbox launched it), \"auto\" (fresh where the question carries a checkpoint, else resume)",
    ),
    ("relaunch.max_concurrent", "4", "runs at the same time; the others queue in the order of their answers"),
    ("relaunch.attempts", "5", "attempts before a round is parked, visibly, for `relaunch retry`"),
    ("relaunch.backoff", "\"10s\"", "the pause after the first failed attempt; it doubles with each"),
    ("relaunch.backoff_max", "\"15m\"", "the longest pause"),
    (
        "relaunch.throttle_deadline",
        "\"12h\"",
        "how long a round may wait for an API that is overloaded, limits the rate or cannot be reached; such failures are no attempts",
    ),
    ("relaunch.same_failure", "3", "the same failure so many times in a row parks a round, whatever `attempts` says; 0 is never"),
    (
        "relaunch.breaker_failures",
        "10",
        "so many failed runs within breaker_window, with none delivered, pause the whole queue; 0 is never",
    ),
    ("relaunch.breaker_window", "\"10m\"", "see breaker_failures"),
    ("relaunch.breaker_pause", "\"5m\"", "the pause before one run is tried; it doubles, up to eightfold, while that fails too"),
    (
        "relaunch.prompt",
        "\"\"",
        "the fresh prompt's template with {workflow_id} {checkpoint} {question} {answer}; \"\" is the built-in one",
    ),
    ("relaunch.config_dirs", "[]", "other CLAUDE_CONFIG_DIRs that a question may name, beside the watcher's own"),
    ("relaunch.cwd_roots", "[]", "the folders under which a question may have its agent run; [] is anywhere"),
    ("runner.default", "\"claude\"", "which [runner.NAME] launches"),
    ("runner.*.program", "\"claude\"", "the program: a path, or a name on PATH"),
    ("runner.*.args", "[]", "more arguments"),
    ("runner.*.env", "{}", "more environment"),
    ("runner.*.permission_mode", "\"\"", "--permission-mode; \"\" is the agent's own default"),
    (
        "runner.*.allowed_tools",
        "[\"Bash(ask-post:*)\", \"Bash(checkpoint:*)\"]",
        "what the agent may call without asking; everything else that needs a permission is refused",
    ),
    ("runner.*.dangerously_skip_permissions", "false", "bypass every permission check"),
    ("limits.run_time", "\"6h\"", "wall time of one run; then it is stopped and parked, its session kept"),
    ("limits.silence", "\"1h\"", "time without a sign of life; then the same"),
    ("limits.silent_after", "\"30s\"", "time without a sign of life before the run is shown as silent"),
    ("limits.grace", "\"30s\"", "from a polite stop to the next rung of the ladder"),
    ("limits.turns", "0", "API round trips of one launch (--max-turns); 0 is no limit"),
    ("limits.run_cost", "0.0", "US dollars for one answer, all its attempts together; then it is parked, its session kept; 0 is no limit"),
    ("limits.workflow_cost", "0.0", "US dollars for one workflow, all its answers together; then the same"),
    (
        "limits.tree_cost",
        "0.0",
        "US dollars for a workflow and all it started, directly or through others; then nothing of that tree is launched or spawned; 0 is no limit",
    ),
    (
        "limits.tree_time",
        "\"0s\"",
        "time in which at least one run of such a tree is at work: runs at the same time count once, waiting for an answer does not; then the same, and live runs are stopped, their sessions kept; 0s is no limit",
    ),
    (
        "limits.day_cost",
        "0.0",
        "US dollars for all runs of a day (UTC); then nothing is launched until the next. Runs at the same time share it: each reserves its `run_cost`, or an even part",
    ),
    ("chain.max_depth", "8", "levels of a tree of workflows that start workflows, the first one included"),
    ("chain.max_children", "16", "for how many workflows one may wait at a time"),
    ("notify.command", "[]", "a program that tells the human: gets the event as its last argument, the question on standard input"),
    (
        "history.keep",
        "\"\"",
        "how long what is over is kept, such as \"90d\": `askbox gc` prunes what is older, and nothing else ever does; \"\" is for ever",
    ),
    ("log.format", "\"text\"", "the watcher's log on standard error: \"text\", or \"json\" for one object a line"),
    ("metrics.file", "\"\"", "a file with the figures for Prometheus's textfile collector, replaced whenever they change; \"\" is none"),
];

/// A configuration and where it came from.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// What is in force.
    pub config: Config,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The keys that the file sets.
    pub set: Vec<String>,
}

/// Where the configuration is looked for.
#[must_use]
pub fn location() -> Option<PathBuf> {
    let path = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    path("ASKBOX_CONFIG").or_else(|| {
        let base = path("XDG_CONFIG_HOME").or_else(|| path("HOME").map(|h| h.join(".config")))?;
        Some(base.join("askbox/config.toml"))
    })
}

/// Loads the configuration. A missing file is the default, unless `$ASKBOX_CONFIG` names it.
///
/// # Errors
/// [`Error::Invalid`] names file, key and the nearest known key.
pub fn load() -> Result<Loaded> {
    let Some(path) = location() else { return Ok(Loaded::default()) };
    match disk::read(&path, MAX_CONFIG) {
        Err(e) if e.is_missing_file() && std::env::var_os("ASKBOX_CONFIG").is_none() => Ok(Loaded::default()),
        Err(e) if e.is_missing_file() => Err(Error::not_found(
            format!("$ASKBOX_CONFIG names {}, which does not exist", path.display()),
            "write one with: askbox init, or unset ASKBOX_CONFIG",
        )),
        other => parse(&other?, &path),
    }
}

fn check(config: &Config) -> Result<()> {
    let at_least_one = |key: &str, ok: bool| if ok { Ok(()) } else { Err(Error::invalid(key, "is zero", "use at least 1")) };
    at_least_one("relaunch.max_concurrent", config.relaunch.max_concurrent > 0)?;
    at_least_one("relaunch.attempts", config.relaunch.attempts > 0)?;
    at_least_one("limits.run_time", !config.limits.run_time.0.is_zero())?;
    at_least_one("chain.max_depth", config.chain.max_depth > 0)?;
    at_least_one("chain.max_children", config.chain.max_children > 0)?;
    at_least_one("limits.silence", !config.limits.silence.0.is_zero())?;
    at_least_one("limits.silent_after", !config.limits.silent_after.0.is_zero())?;
    at_least_one("relaunch.breaker_window", !config.relaunch.breaker_window.0.is_zero())?;
    at_least_one("relaunch.breaker_pause", !config.relaunch.breaker_pause.0.is_zero())?;
    let limits = &config.limits;
    for (key, usd) in [
        ("limits.run_cost", limits.run_cost),
        ("limits.workflow_cost", limits.workflow_cost),
        ("limits.tree_cost", limits.tree_cost),
        ("limits.day_cost", limits.day_cost),
    ] {
        if usd < 0.0 {
            return Err(Error::invalid(key, "is no amount of money", "write US dollars such as 2.5; 0 is no limit"));
        }
    }
    if config.metrics.file.components().next().is_some() && !config.metrics.file.is_absolute() {
        return Err(Error::invalid(
            "metrics.file",
            "is no absolute path",
            "write the whole path, such as /var/lib/node_exporter/askbox.prom",
        ));
    }
    config.runner(None).map(drop)
}

impl Config {
    /// The runner of that name, or the default one.
    pub fn runner(&self, name: Option<&str>) -> Result<(String, Runner)> {
        let name = name.unwrap_or(&self.runner.default);
        let mut runner = match self.runner.named.get(name) {
            Some(runner) => runner.clone(),
            None if name == "claude" => Runner { allowed_tools: default_tools(), ..Runner::default() },
            None => {
                let known: Vec<_> = self.runner.named.keys().map(String::as_str).chain(["claude"]).collect();
                return Err(Error::invalid(
                    "runner.default",
                    format!("names `{name}`, which has no [runner.{name}]"),
                    format!("add that section, or use one of: {}", known.join(", ")),
                ));
            }
        };
        if runner.program.is_empty() {
            runner.program = "claude".into();
        }
        Ok((name.to_owned(), runner))
    }
}

/// A configuration file with every key, its default and its meaning, all commented out.
#[must_use]
pub fn template() -> String {
    let mut out = String::from("# askbox: every key is optional; what stands here is the default.\n");
    let mut section = "";
    for (key, default, meaning) in KEYS {
        let (head, name) = key.rsplit_once('.').unwrap_or(("", key));
        if head != section {
            out.push_str(&format!("\n[{}]\n", head.replace('*', "claude")));
            section = head;
        }
        for line in wrap(meaning, 100) {
            out.push_str(&format!("# {line}\n"));
        }
        out.push_str(&format!("#{name} = {default}\n"));
    }
    out
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + word.len() < width => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

mod history;
mod read;
pub use history::History;
pub use read::parse;

#[cfg(test)]
mod tests;
