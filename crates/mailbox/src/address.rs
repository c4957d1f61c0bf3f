//! The address of a question: a workflow on this machine, or `HOST:WORKFLOW` for one on another machine.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::{Error, Result, RoundId, WorkflowId, text};

/// The longest name of a machine, in bytes.
pub const MAX_HOST_NAME: usize = 32;

/// Words that cannot name a machine: `all` means all machines, and `local` means this one.
const RESERVED: [&str; 2] = ["all", "local"];

/// The name of another machine, as the configuration of this one has it: `[a-z0-9][a-z0-9_-]{0,31}`, but not `all` or `local`. A
/// machine has no name for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, derive_more::Display, serde_with::DeserializeFromStr)]
#[serde(transparent)]
pub struct HostName(String);

impl HostName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = Error;

    /// Reads the name of a machine.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `host`.
    fn from_str(text: &str) -> Result<Self> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let is_name = text.len() <= MAX_HOST_NAME && text.chars().all(is_plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !is_name || RESERVED.contains(&text) {
            let problem = format!("`{}` is no name of a machine", text::excerpt(text, 40));
            return Err(Error::invalid("host", problem, "use up to 32 of a-z, 0-9, - and _ ; `all` and `local` are taken"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A workflow on this machine, or on another one: `docs-42`, `build:docs-42`. The id of a workflow never holds a colon.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The other machine; `None` for this one.
    pub host: Option<HostName>,
    /// The workflow on that machine.
    pub workflow: WorkflowId,
}

impl Address {
    /// Returns the address of a workflow on this machine.
    pub fn here(workflow: WorkflowId) -> Self {
        Self { host: None, workflow }
    }
}

/// A round of this machine or of another one. Rounds on two machines may have the same ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoundAt {
    /// The other machine, or `None` for this one.
    pub host: Option<HostName>,
    /// The round on its machine.
    pub round: RoundId,
}

impl RoundAt {
    /// A round of this machine.
    pub fn here(round: RoundId) -> Self {
        Self { host: None, round }
    }

    /// Reads the address of a workflow, and the id of its question.
    ///
    /// # Errors
    /// [`Error::Invalid`] if one of them is not valid.
    pub fn parse(address: &str, question: &str) -> Result<Self> {
        let Address { host, workflow } = address.parse()?;
        Ok(Self { host, round: RoundId { workflow, question: question.parse()? } })
    }

    /// The address where its question waits or waited.
    pub fn address(&self) -> Address {
        Address { host: self.host.clone(), workflow: self.round.workflow.clone() }
    }
}

impl FromStr for Address {
    type Err = Error;

    /// Reads `WORKFLOW` or `HOST:WORKFLOW`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the name of the machine or the id of the workflow is not valid.
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.split_once(':') {
            Some((host, workflow)) => Self { host: Some(host.parse()?), workflow: workflow.parse()? },
            None => Self::here(text.parse()?),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => f.pad(&format!("{host}:{}", self.workflow)),
            None => f.pad(self.workflow.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_workflow_here_or_on_a_machine() {
        let there: Address = "build:docs-42".parse().unwrap();
        assert_eq!((there.host.as_ref().map(HostName::as_str), there.workflow.as_str()), (Some("build"), "docs-42"));
        assert_eq!(there.to_string(), "build:docs-42");
        let here: Address = "docs-42".parse().unwrap();
        assert!(here.host.is_none() && here.to_string() == "docs-42");
        for wrong in
            ["-oProxyCommand=x:docs", ":docs", "build:", "build:a:b", "all:docs", "local:docs", "Build:docs", "a b:docs", "../x:docs"]
        {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
        assert!(HostName::from_str(&"h".repeat(33)).is_err());
    }
}
