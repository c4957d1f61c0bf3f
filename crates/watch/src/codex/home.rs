//! Codex's own folder, the socket of its daemon below it, and whether Codex is used here.

use std::path::{Path, PathBuf};

use askbox_cli::program;
use askbox_run::process::programs;

/// The folder in Codex's own folder that its daemon makes for its socket.
const DAEMON: &str = "app-server-control";

/// Codex's own folder. `None` if it has no place, because `$HOME` is not set.
pub fn folder() -> Option<PathBuf> {
    program::env("CODEX_HOME").map(PathBuf::from).or_else(|| program::env("HOME").map(|home| Path::new(&home).join(".codex")))
}

/// The socket of the daemon below Codex's own folder.
pub(super) fn socket_in(folder: &Path) -> PathBuf {
    folder.join(DAEMON).join("app-server-control.sock")
}

/// True if a person of this machine uses Codex: the program is on PATH, or its daemon has run.
pub fn is_used() -> bool {
    programs::find(Path::new("codex")).is_ok() || folder().is_some_and(|folder| folder.join(DAEMON).is_dir())
}
