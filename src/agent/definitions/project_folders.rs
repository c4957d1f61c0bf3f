//! The `.claude/agents` folders of a project.

use std::path::{Path, PathBuf};

/// The `.claude/agents` folders that count in `dir`, the nearest first: from `dir` up to the repository's root. Without a repository,
/// up to below the home or up to the root of the file system.
///
/// A linked git worktree without an own folder uses the main checkout's.
pub fn of(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let home = home.and_then(|h| h.canonicalize().ok());
    let mut found = Vec::new();
    let mut root = None;
    for folder in dir.ancestors() {
        if home.as_deref() == Some(folder) {
            break;
        }
        let agents = folder.join(".claude/agents");
        if agents.is_dir() {
            found.push(agents);
        }
        if folder.join(".git").exists() {
            root = Some(folder.to_path_buf());
            break;
        }
    }
    if let Some(root) = root
        && !found.contains(&root.join(".claude/agents"))
        && let Some(main) = main_checkout(&root)
    {
        let agents = main.join(".claude/agents");
        if agents.is_dir() && !found.contains(&agents) {
            found.push(agents);
        }
    }
    found
}

/// The main checkout of a linked worktree.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let git = worktree.join(short(&worktree.join(".git"))?.strip_prefix("gitdir:")?.trim());
    let common = git.join(short(&git.join("commondir"))?.trim()).canonicalize().ok()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_path_buf))?
}

/// The text of a small regular file.
fn short(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.len() < 8192).then(|| std::fs::read_to_string(path).ok())?
}
