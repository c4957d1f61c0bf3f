//! The sessions that run on this machine, from the files that each agent program keeps of them. Reading them changes nothing.
//!
//! | file | idea |
//! |---|---|
//! | [`claude`] | the sessions of Claude Code |
//! | `copilot`, `kimi`, `qwen` | the sessions of other programs |
//! | `kept` | reads the files of these programs within bounds |
//! | `found` | a session that was found |
//!
//! # Limitations
//! The programs do not document these files. A list shows their content, and no decision follows from it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub mod claude;
mod copilot;
mod found;
mod kept;
mod kimi;
mod qwen;

pub use found::{Doing, Found, Need, Sessions};

/// A program beside Claude Code whose own files tell of its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, derive_more::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Program {
    /// GitHub's Copilot (measured with 1.0.102).
    Copilot,
    /// Kimi Code (measured with 2.1.0).
    Kimi,
    /// Qwen Code (measured with 0.24.4).
    Qwen,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Copilot, Self::Kimi, Self::Qwen];

    /// The command that starts it.
    pub fn command(self) -> &'static str {
        self.into()
    }

    /// Its own folder: the value of its variable, or else a folder in `$HOME`. `None` if it has no place.
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
    pub fn sessions(self, folder: &Path) -> Sessions {
        match self {
            Self::Copilot => copilot::sessions(folder),
            Self::Kimi => kimi::sessions(folder, SystemTime::now()),
            Self::Qwen => qwen::sessions(folder),
        }
    }
}
