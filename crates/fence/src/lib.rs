//! A fence: the process that stands in it, and everything that it starts, cannot change the folders of the fence, and cannot reach the
//! processes outside of it. The kernel holds it, without root, container or daemon. No process of the fence can leave it.
//!
//! | file | idea |
//! |---|---|
//! | `linux` | a user and mount namespace, and the scopes of Landlock |
//! | `macos` | macOS has none |
//!
//! 1. A namespace of users and of mounts, with the same user. Its mounts are seen by this process and its descendants alone.
//! 2. Each folder above a folder of the fence is mounted onto itself, because a mount point cannot be renamed. Otherwise a process could
//!    move that folder away and make a false one in its place. Folders that this user cannot rename are left alone.
//! 3. Folders are mounted read-only, or covered by an empty folder. A single file can be read-only as well, until a program outside
//!    replaces it: that takes its mount away.
//! 4. All capabilities are dropped for good, and programs get no new ones: `sudo` does not work.
//! 5. Landlock's scopes: no signal, no abstract socket and no debugging reaches a process outside. There are no Landlock rules for files,
//!    because those would refuse every mount, and so break the sandbox of an agent program.
//!
//! # Limitations
//! Setuid programs do not work: `sudo`, `ping`, containers without root. Root's files seem to belong to nobody.
//! A program outside that runs commands for this user decides for the fenced process: a tmux server, `ssh localhost`, a user's systemd.
//! Another mount of the same folder is not protected.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The folders of a fence. All are absolute paths that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Nothing in them can be changed. They may be files.
    pub read_only: Vec<PathBuf>,
    /// They look empty.
    pub covered: Vec<PathBuf>,
    /// Folders below a covered one that are shown, read-only.
    pub shown: Vec<PathBuf>,
    /// Folders below a read-only or shown one that can be changed.
    pub writable: Vec<PathBuf>,
    /// Folders, each in the place of a folder below a read-only one. They can be changed.
    pub instead: Vec<(PathBuf, PathBuf)>,
    /// Folders below a read-only one, each with a further place where it is shown read-only.
    pub also: Vec<(PathBuf, PathBuf)>,
    /// True if this process must not go on without the fence.
    pub is_must: bool,
}

impl Fence {
    /// Puts this process behind the fence, for good. The process must have one thread. If the system refuses a namespace or its mounts and
    /// the fence is not a must, this returns false, and the process can do what it could before. If this fails, the process may stand behind
    /// a part of the fence.
    ///
    /// # Errors
    /// The error of the system, with the step that it refused.
    pub fn erect(&self) -> io::Result<bool> {
        system::erect(self)
    }
}

/// The reason why this system cannot hold a fence, and what a person can do about it. `None` if nothing is known against it.
pub fn obstacle() -> Option<Obstacle> {
    system::obstacle()
}

/// A reason why there is no fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obstacle {
    /// The reason.
    pub why: &'static str,
    /// What a person can do.
    pub todo: &'static str,
    /// True if no setting of this system changes it.
    pub is_lasting: bool,
}
