//! All sections of the configuration file together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::section::{Key, Section};
use crate::config::sections::answers::Answers;
use crate::config::sections::approvals::Approvals;
use crate::config::sections::limits::{Chain, Limits};
use crate::config::sections::notify::{Notify, Target};
use crate::config::sections::peers::PeerConfig;
use crate::config::sections::relaunching::Relaunch;
use crate::config::sections::runners::{Runner, Runners};
use crate::config::sections::sync::Sync;
use crate::config::sections::upkeep::{History, Log, Mcp, Metrics};
use crate::config::sections::web::Web;
use crate::error::Result;

/// Everything that can be configured. Every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// `[log]`
    pub log: Log,
    /// `[metrics]`
    pub metrics: Metrics,
    /// `[mcp]`
    pub mcp: Mcp,
    /// `[web]`
    pub web: Web,
}

impl Config {
    /// The runner with this name, or the default runner, and its name.
    ///
    /// # Errors
    /// [`crate::error::Error::Invalid`] if the configuration has no such section.
    pub fn runner(&self, name: Option<&str>) -> Result<(String, Runner)> {
        self.runner.find(name)
    }

    /// True if a section names another machine, or a database of other machines.
    #[must_use]
    pub fn names_other_machines(&self) -> bool {
        self.peers.values().any(|peer| !peer.ssh.is_empty() || !peer.postgres.is_empty())
    }
}

/// The sections in the order of the documentation.
pub const SECTIONS: [Section; 16] = [
    Relaunch::SECTION,
    Runners::SECTION,
    Runner::SECTION,
    Answers::SECTION,
    Approvals::SECTION,
    Limits::SECTION,
    Chain::SECTION,
    Notify::SECTION,
    Target::SECTION,
    PeerConfig::SECTION,
    Sync::SECTION,
    History::SECTION,
    Log::SECTION,
    Metrics::SECTION,
    Mcp::SECTION,
    Web::SECTION,
];

/// All keys in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    SECTIONS.iter().flat_map(|section| section.keys)
}

/// The default of a key as TOML.
#[must_use]
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
