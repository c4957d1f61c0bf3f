//! A session, for people who look.

use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codex::Doing;
use askbox_agent::conversation::Conversation;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Error, HostName, Result, Time, WorkflowId};

/// A session whose agent runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Session {
    /// Its agent.
    pub agent: Agent,
    /// Its id.
    pub id: String,
    /// Its name, if it has one.
    pub title: Option<String>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its status, if it is known.
    pub doing: Option<Doing>,
    /// Its status, in words for people.
    pub does: String,
    /// When its status changed.
    pub since: Option<Time>,
    /// What a person can do with it from elsewhere.
    pub offers: Offers,
    /// The workflow, if it is a run of askbox.
    pub run: Option<WorkflowId>,
    /// The configuration folder of the run's agent, if it has its own.
    #[serde(skip)]
    pub config_dir: Option<PathBuf>,
}

impl Session {
    /// The name of its agent, or that it is a run of askbox.
    pub fn of_whom(&self) -> &'static str {
        if self.run.is_some() { "run of askbox" } else { self.agent.name() }
    }
}

/// The place of a session: `ID` on this machine, `HOST:ID` on another one.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{}{id}", host.as_ref().map(|host| format!("{host}:")).unwrap_or_default())]
pub struct SessionAt {
    /// The other machine; `None` for this one.
    pub host: Option<HostName>,
    /// The id of the session there.
    pub id: String,
}

impl FromStr for SessionAt {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (host, id) = text.split_once(':').map_or((None, text), |(host, id)| (Some(host), id));
        Ok(Self { host: host.map(str::parse).transpose()?, id: id.to_owned() })
    }
}

/// What a person can do with a session from elsewhere, in words.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Offers {
    /// How the model reads the words of a prompt. `None` if the session takes none.
    pub words: Option<Cow<'static, str>>,
    /// What a stop does. `None` if the session cannot be stopped now.
    pub stop: Option<Cow<'static, str>>,
}

/// What was said in a session.
#[derive(Debug)]
pub struct Said {
    /// Its agent.
    pub agent: Agent,
    /// The path that changes with it, or a path in a folder that does.
    pub at: PathBuf,
    /// The end of its conversation.
    pub conversation: Conversation,
}
