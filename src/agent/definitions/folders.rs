//! Where a project keeps its agents.

use std::path::{Path, PathBuf};

/// The `.claude/agents` folders that count in `dir`, the nearest first: each that there is from there up to the repository's root,
/// or without one up to the home, which is not part of it, or to the root of the file system.
///
/// A linked worktree of git without a folder of its own has the one of the main checkout.
pub fn of_project(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
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
        && let Some(main) = main_checkout(&root)
        && !found.contains(&root.join(".claude/agents"))
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
    let link = std::fs::read_to_string(worktree.join(".git")).ok().filter(|l| l.len() < 8192)?;
    let git = worktree.join(link.strip_prefix("gitdir:")?.trim());
    let common = std::fs::read_to_string(git.join("commondir")).ok().filter(|l| l.len() < 8192)?;
    let common = git.join(common.trim()).canonicalize().ok()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_path_buf))?
}
