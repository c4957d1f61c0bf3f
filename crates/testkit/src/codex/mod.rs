//! Codex's daemon: a scripted one, and a client of one as a terminal is.
//!
//! | file | idea |
//! |---|---|
//! | `daemon` | a scripted daemon on a Unix socket, which a test lets ask |
//! | `terminal` | a client of a daemon |

mod daemon;
mod terminal;

use std::path::{Path, PathBuf};

pub use daemon::{AtTurn, Daemon};
pub use terminal::Terminal;

/// The socket of the daemon below a home.
pub fn socket(home: &Path) -> PathBuf {
    home.join(".codex/app-server-control/app-server-control.sock")
}
