//! All sections of the configuration file together, and the checks of their values beyond the types.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::section::{Key, Section};
use crate::sections::answers::Answers;
use crate::sections::approvals::Approvals;
use crate::sections::fence::Fence;
use crate::sections::limits::{Chain, Limits};
use crate::sections::live::Live;
use crate::sections::notify::{self, Notify, Target};
use crate::sections::peers::{self, PeerConfig, Sync};
use crate::sections::relaunching::Relaunch;
use crate::sections::runners::{Runner, RunnerKind, Runners};
use crate::sections::traces::Traces;
use crate::sections::upkeep::{History, Mcp, Metrics};
use crate::sections::web::{self, Web};
use askbox_mailbox::{Error, Result, WorkflowId};

/// Everything that can be configured. Every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Config {
    /// `[relaunch]`
    pub relaunch: Relaunch,
    /// `[runner]`
    pub runner: Runners,
    /// `[answers]`
    pub answers: Answers,
    /// `[approvals]`
    pub approvals: Approvals,
    /// `[fence]`
    pub fence: Fence,
    /// `[live]`
    pub live: Live,
    /// `[limits]`
    pub limits: Limits,
    /// `[chain]`
    pub chain: Chain,
    /// `[notify]`
    pub notify: Notify,
    /// The sections `[target.NAME]` by name.
    pub target: BTreeMap<String, Target>,
    /// The sections `[peers.NAME]` by name.
    pub peers: BTreeMap<String, PeerConfig>,
    /// `[sync]`
    pub sync: Sync,
    /// `[history]`
    pub history: History,
    /// `[metrics]`
    pub metrics: Metrics,
    /// `[traces]`
    pub traces: Traces,
    /// `[mcp]`
    pub mcp: Mcp,
    /// `[web]`
    pub web: Web,
}

impl Config {
    /// The runner of a workflow, and its name.
    ///
    /// # Errors
    /// [`askbox_mailbox::error::Error::Invalid`] if the configuration has no section for it.
    pub fn runner_of(&self, workflow: &WorkflowId) -> Result<(String, Runner)> {
        self.runner.of_workflow(workflow)
    }

    /// True if a section names another machine, or a database of other machines.
    pub fn names_other_machines(&self) -> bool {
        self.peers.values().any(|peer| !peer.ssh.is_empty() || !peer.postgres.is_empty())
    }
}

/// Lists the sections in the order of the documentation.
macro_rules! sections {
    ($($section:ident)*) => {
        /// The sections in the order of the documentation.
        pub const SECTIONS: [Section; [$($section::PATHS),*].len()] = [$($section::SECTION),*];

        /// The paths of all keys, by section. A reader of the file needs only these: the descriptions would make each program longer.
        const PATHS: &[&[&str]] = &[$($section::PATHS),*];
    };
}
sections! {
    Relaunch Runners Runner Answers Approvals Fence Live Limits Chain Notify Target PeerConfig Sync History Metrics Traces Mcp Web
}

/// The paths of all keys, such as `limits.turns`.
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    PATHS.iter().copied().flatten().copied()
}

/// All keys in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// The default of a key as TOML.
pub fn default_of(key: &Key) -> String {
    let text = |defaults: std::result::Result<toml::Value, toml::ser::Error>, path: &str| {
        let value = path.split('.').try_fold(defaults.ok()?, |value, name| value.get(name).cloned());
        value.map(|value| value.to_string())
    };
    let found = match key.path.split_once(".*.") {
        Some(("target", name)) => text(toml::Value::try_from(Target::default()), name),
        Some(("peers", name)) => text(toml::Value::try_from(PeerConfig::default()), name),
        Some((_, name)) => text(toml::Value::try_from(Runner::default()), name),
        None => text(toml::Value::try_from(Config::default()), key.path),
    };
    found.unwrap_or_default()
}

/// The longest wait of a tool's call.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The longest time that a run holds a server's question.
const LONGEST_HOLD: Duration = Duration::from_secs(3600);

/// Refuses values that no run could work with. `set` are the keys of the file.
pub(super) fn check_values(config: &Config, set: &[String]) -> Result<()> {
    let (relaunch, limits, chain) = (&config.relaunch, &config.limits, &config.chain);
    for (key, is_zero) in [
        ("relaunch.max_concurrent", relaunch.max_concurrent == 0),
        ("relaunch.attempts", relaunch.attempts == 0),
        ("relaunch.breaker_window", relaunch.breaker_window.0.is_zero()),
        ("relaunch.breaker_pause", relaunch.breaker_pause.0.is_zero()),
        ("notify.time_limit", config.notify.time_limit.0.is_zero()),
        ("sync.poll", config.sync.poll.0.is_zero()),
        ("limits.run_time", limits.run_time.0.is_zero()),
        ("limits.silence", limits.silence.0.is_zero()),
        ("limits.silent_after", limits.silent_after.0.is_zero()),
        ("chain.max_depth", chain.max_depth == 0),
        ("chain.max_children", chain.max_children == 0),
    ] {
        if is_zero {
            return Err(Error::invalid(key, "is zero", "use a value above zero"));
        }
    }
    for (key, usd) in [
        ("limits.run_cost", limits.run_cost),
        ("limits.workflow_cost", limits.workflow_cost),
        ("limits.tree_cost", limits.tree_cost),
        ("limits.day_cost", limits.day_cost),
    ] {
        if usd < 0.0 {
            return Err(Error::invalid(key, "is negative", "write US dollars such as 2.5, or 0 for no limit"));
        }
    }
    if limits.hold.0 > LONGEST_HOLD {
        return Err(Error::invalid("limits.hold", "is longer than 1h", "write a shorter time such as 5m: the agent waits all the while"));
    }
    if config.mcp.wait.0 > LONGEST_WAIT {
        return Err(Error::invalid("mcp.wait", "is longer than 10m", "leave it at 45s: clients give a call up after a minute"));
    }
    if config.metrics.file.components().next().is_some() && !config.metrics.file.is_absolute() {
        let fix = "write an absolute path such as /var/lib/node_exporter/askbox.prom";
        return Err(Error::invalid("metrics.file", "is not an absolute path", fix));
    }
    notify::check(&config.target)?;
    peers::check(&config.peers)?;
    config.answers.check()?;
    config.traces.check()?;
    web::check(&config.web)?;
    config.approvals.check()?;
    config.live.check()?;
    config.runner.check(set)?;
    let runners = config.runner.in_use()?;
    if !config.approvals.is_empty() && runners.iter().all(|(_, runner)| runner.kind == RunnerKind::Program) {
        let key = if config.approvals.ask.is_empty() { "approvals.refuse" } else { "approvals.ask" };
        let fix = "take the rules out, and let the program itself ask before what it does (ask-post, then exit status 6)";
        return Err(Error::invalid(key, "nothing enforces it: every runner is of the kind \"program\"", fix));
    }
    Ok(())
}
