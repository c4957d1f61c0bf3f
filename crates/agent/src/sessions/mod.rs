//! The sessions that run on this machine, from the files that each agent program keeps of them. Reading them changes nothing.
//!
//! - [`claude`]: the sessions of Claude Code.
//! - `copilot`, `kimi`, `qwen`: the sessions of other programs. `kept`: reads their files within bounds.
//!
//! # Limitations
//! The programs do not document these files. A list shows their content, and no decision follows from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use askbox_mailbox::error::Result;
use askbox_mailbox::time::Time;

pub mod claude;
mod copilot;
mod kept;
mod kimi;
mod qwen;

/// A program beside Claude Code whose own files tell of its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// GitHub's Copilot (measured with 1.0.102).
    Copilot,
    /// Kimi Code (measured with 2.1.0).
    Kimi,
    /// Qwen Code (measured with 0.24.4).
    Qwen,
}

/// A session of such a program.
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

impl Program {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Copilot, Self::Kimi, Self::Qwen];

    /// The command that starts it.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Copilot => "copilot",
            Self::Kimi => "kimi",
            Self::Qwen => "qwen",
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Copilot => "Copilot",
            Self::Kimi => "Kimi",
            Self::Qwen => "Qwen",
        }
    }

    /// Its own folder: the value of its variable, or else a folder in `$HOME`. `None` if it has no place.
    #[must_use]
    pub fn folder(self, env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let (variable, in_home) = match self {
            Self::Copilot => ("COPILOT_HOME", ".copilot"),
            Self::Kimi => ("KIMI_CODE_HOME", ".kimi-code"),
            Self::Qwen => ("QWEN_HOME", ".qwen"),
        };
        let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(variable).or_else(|| set("HOME").map(|home| home.join(in_home)))
    }

    /// Reads the sessions from this folder of the program.
    #[must_use]
    pub fn sessions(self, folder: &Path) -> Sessions {
        match self {
            Self::Copilot => copilot::sessions(folder),
            Self::Kimi => kimi::sessions(folder, SystemTime::now()),
            Self::Qwen => qwen::sessions(folder),
        }
    }
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
