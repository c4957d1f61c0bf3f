//! A session that was found, and its state.

use std::path::PathBuf;

use askbox_mailbox::{Result, Time};

/// A session of a program other than Claude Code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its id, as its program names it.
    pub id: String,
    /// The id of its process. `None` if its program does not tell it: the session may have ended.
    pub pid: Option<i32>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its name, if it has one.
    pub title: Option<String>,
    /// What it does.
    pub doing: Doing,
    /// Since when it does that.
    pub since: Option<Time>,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A dialog waits for its user.
    Waits(Need),
    /// The model or a tool is at work.
    Works,
    /// The session has nothing to do.
    Rests,
    /// Its program's files do not tell.
    Unknown,
}

/// The request of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Leave to make a tool call.
    Permission,
    /// The answer to a question of the agent.
    Answer,
}

/// The sessions of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// Those that were read.
    pub found: Vec<Found>,
    /// How many could not be read.
    pub unreadable: usize,
}

/// Counts the sessions that could not be read, and leaves out the sessions that have ended.
impl FromIterator<Result<Option<Found>>> for Sessions {
    fn from_iter<I: IntoIterator<Item = Result<Option<Found>>>>(read: I) -> Self {
        let mut sessions = Self::default();
        for read in read {
            match read {
                Ok(found) => sessions.found.extend(found),
                Err(_) => sessions.unreadable += 1,
            }
        }
        sessions
    }
}
