//! What the checks learn that is not a problem. The report shows it.

use serde::Serialize;

use crate::commands::doctor::installation::acp_agents::AcpAgent;
use crate::commands::doctor::installation::agent_version::AgentVersion;
use crate::commands::doctor::installation::codex::KnownCodex;
#[cfg(feature = "web")]
use crate::commands::doctor::installation::page::PageDevices;
use crate::commands::doctor::installation::peers::KnownPeer;
#[cfg(feature = "sync")]
use crate::commands::doctor::installation::sync::KnownSync;
use crate::commands::doctor::installation::targets::KnownTarget;
use crate::commands::doctor::installation::traces::KnownTraces;
use crate::commands::doctor::mailbox_files::history::KnownHistory;

/// All of this is missing if only one workflow was checked, or if there is nothing to say about it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Facts {
    /// The agent program and its version, if it is `claude`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentVersion>,
    /// The agents that speak ACP.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acp_agents: Vec<AcpAgent>,
    /// Codex's daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codex: Option<KnownCodex>,
    /// The places where people are notified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<KnownTarget>,
    /// The collector of spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<KnownTraces>,
    /// The other machines whose questions are seen from here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<KnownPeer>,
    /// The devices that may answer on the web page.
    #[cfg(feature = "web")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PageDevices>,
    /// The process that copies the questions into a database.
    #[cfg(feature = "sync")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<KnownSync>,
    /// What history costs, and the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<KnownHistory>,
}

impl Facts {
    /// A line or more about each, for people.
    pub(super) fn words(&self) -> String {
        let mut out = self.agent.as_ref().map(AgentVersion::words).unwrap_or_default();
        self.acp_agents.iter().for_each(|agent| out.push_str(&agent.words()));
        out.push_str(self.codex.as_ref().map(KnownCodex::words).unwrap_or_default());
        self.targets.iter().for_each(|target| out.push_str(&target.words()));
        self.traces.iter().for_each(|traces| out.push_str(&traces.words()));
        self.peers.iter().for_each(|peer| out.push_str(&peer.words()));
        #[cfg(feature = "web")]
        out.push_str(&self.page.as_ref().map(PageDevices::words).unwrap_or_default());
        #[cfg(feature = "sync")]
        out.push_str(&self.sync.as_ref().map(KnownSync::words).unwrap_or_default());
        out + &self.history.as_ref().map(KnownHistory::words).unwrap_or_default()
    }
}
