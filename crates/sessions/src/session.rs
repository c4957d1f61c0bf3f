//! A session, for people who look.

use std::path::PathBuf;

use crate::codex::Doing;
use askbox_agent::conversation::Conversation;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Time, WorkflowId};

/// A session whose agent runs.
#[derive(Debug)]
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
}

impl Session {
    /// The name of its agent, or that it is a run of askbox.
    pub fn of_whom(&self) -> &'static str {
        if self.run.is_some() { "run of askbox" } else { self.agent.name() }
    }
}

/// What a person can do with a session from elsewhere, in words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offers {
    /// How the model reads the words of a prompt. `None` if the session takes none.
    pub words: Option<&'static str>,
    /// What a stop does. `None` if the session cannot be stopped now.
    pub stop: Option<&'static str>,
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
