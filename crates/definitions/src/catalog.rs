//! The agents that an agent program in a given folder would know.
//!
//! These folders count: every `.claude/agents` from the folder up to its repository's root, and the user's folder. Without a
//! repository, the search goes up to the home, or to the root of the file system. If several agents have one name, the project's wins
//! over the user's, then the nearer folder, then the later path in one folder. Links are followed, because these files are the user's
//! own configuration, not the mailbox's.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agent_file::{self, Agent, Finding, Level, Scope};
use askbox_agent::claude;

/// The most files that are read in one folder.
const MAX_FILES: usize = 2000;
/// The deepest folder below `.claude/agents` that is searched.
const MAX_DEPTH: usize = 32;

/// The agents, and the files that fail to define one.
#[derive(Debug, Default, Serialize)]
pub struct Catalog {
    /// The agents that count, sorted by name.
    pub agents: Vec<Agent>,
    /// The problems, in the order of the files.
    pub problems: Vec<Finding>,
}

impl Catalog {
    /// Finds the agents that an agent program in `dir` would know. `env` is the environment that the program would get.
    pub fn discover(dir: &Path, env: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut catalog = Self::default();
        let (mut known, mut seen) = (BTreeMap::new(), HashSet::new());
        let home = env("HOME").map(PathBuf::from);
        let of_user = claude::config_dir(&env).map(|dir| dir.join("agents"));
        let mut of_project = project_folders(dir, home.as_deref());
        of_project.retain(|p| of_user.as_ref().is_none_or(|u| !same(p, u)));
        let of_user = of_user.map(|folder| (folder, Scope::User));
        // The least important folder first.
        for (folder, scope) in of_user.into_iter().chain(of_project.into_iter().rev().map(|p| (p, Scope::Project))) {
            for agent in catalog.read_folder(&folder, scope, &mut seen).into_values() {
                put(&mut known, agent);
            }
        }
        catalog.agents = known.into_values().collect();
        catalog
    }

    fn note(&mut self, level: Level, file: &Path, problem: String, fix: &str) {
        self.problems.push(Finding { level, file: file.into(), line: 0, problem, fix: fix.into() });
    }

    /// The agents of one folder by name. A file that has several paths, by links, counts once. `read` has the files of earlier folders.
    fn read_folder(&mut self, folder: &Path, scope: Scope, read: &mut HashSet<(u64, u64)>) -> BTreeMap<String, Agent> {
        let mut files = Vec::new();
        self.walk(folder, 0, &mut HashSet::new(), &mut files);
        // By UTF-16, because JavaScript sorts like that.
        files.sort_by_cached_key(|f| f.to_string_lossy().encode_utf16().collect::<Vec<_>>());
        let mut known: BTreeMap<String, Agent> = BTreeMap::new();
        files.retain(|file| file.metadata().map_or(true, |found| read.insert((found.dev(), found.ino()))));
        for file in files {
            let agent = match agent_file::read(&file, scope) {
                Ok(agent) => agent,
                Err(finding) => {
                    self.problems.push(finding);
                    continue;
                }
            };
            if let Some(earlier) = known.get(&agent.name) {
                let problem = format!("{} defines `{}` too; this file counts, as the later path", earlier.file.display(), agent.name);
                self.note(Level::Warning, &file, problem, "rename one of the two agents, or delete it");
            }
            put(&mut known, agent);
        }
        known
    }

    /// Finds `*.md` at any depth.
    fn walk(&mut self, folder: &Path, depth: usize, seen: &mut HashSet<(u64, u64)>, files: &mut Vec<PathBuf>) {
        let Ok(own) = folder.metadata() else { return };
        // A link may lead back to a folder above.
        if !own.is_dir() || !seen.insert((own.dev(), own.ino())) {
            return;
        }
        if depth > MAX_DEPTH {
            return self.note(Level::Warning, folder, format!("not searched: deeper than {MAX_DEPTH} folders"), "move the folder up");
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) => return self.note(Level::Error, folder, format!("cannot be read: {e}"), "make the folder readable, or remove it"),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                self.walk(&path, depth + 1, seen, files);
            } else if path.as_os_str().as_encoded_bytes().ends_with(b".md") {
                if files.len() == MAX_FILES {
                    return self.note(Level::Warning, folder, format!("only the first {MAX_FILES} files are read"), "remove some files");
                }
                files.push(path);
            }
        }
    }
}

/// Adds an agent that wins over an earlier one of its name.
fn put(known: &mut BTreeMap<String, Agent>, mut agent: Agent) {
    if let Some(earlier) = known.remove(&agent.name) {
        agent.shadows.push(earlier.file);
        agent.shadows.extend(earlier.shadows);
    }
    known.insert(agent.name.clone(), agent);
}

fn same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The `.claude/agents` folders that count in `dir`, the nearest first: from `dir` up to the repository's root. Without a repository,
/// the folders below the home count, or those up to the root project_folders the file system.
///
/// A linked git worktree without a folder project_folders its own uses the folder project_folders the main checkout.
fn project_folders(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
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

/// The main checkout project_folders a linked worktree.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let git = worktree.join(short(&worktree.join(".git"))?.strip_prefix("gitdir:")?.trim());
    let common = git.join(short(&git.join("commondir"))?.trim()).canonicalize().ok()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_path_buf))?
}

/// The text project_folders a small regular file.
fn short(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.len() < 8192).then(|| std::fs::read_to_string(path).ok())?
}
