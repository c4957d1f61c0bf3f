//! The agents that people have defined: `.claude/agents/**/*.md` of the project and of the user.
//!
//! Found and read as claude finds and reads them (measured with 2.1.330, and compared by a test): every `.claude/agents` from a
//! folder up to its repository's root, or up to the home or the root of the file system; the nearest wins, and the project wins
//! over the user. Within one folder the last file by path wins. Links are followed: these are the user's own files, not the
//! mailbox's. What makes a file useless to claude is an [`Level::Error`] and leaves the others usable; the rest is a warning.
//!
//! Not looked at: agents of plugins, of the machine's administrator and the built-in ones; and whether `hooks` are valid, for whose
//! sake claude may refuse a file.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::agent::claude;

mod checks;
mod folders;
pub mod frontmatter;
pub mod tools;
pub mod yaml;

/// The largest file that is read; claude skips larger ones.
pub const MAX_FILE: u64 = 1 << 20;
/// The longest description, in bytes, that is no reason for a warning: it goes into every request of every main agent.
pub const LONG_DESCRIPTION: usize = 8 << 10;
/// The most files of one folder.
const MAX_FILES: usize = 2000;
/// The deepest folder below `.claude/agents`.
const MAX_DEPTH: usize = 32;

/// Whose an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The project's: `.claude/agents`.
    Project,
    /// The user's: `$CLAUDE_CONFIG_DIR/agents`, else `~/.claude/agents`.
    User,
}

/// An agent that claude can run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agent {
    /// Its name, for `--agent` and for the Task tool.
    pub name: String,
    /// When it is to be used.
    pub description: String,
    /// With which model; its caller's where there is none.
    pub model: Option<String>,
    /// The tools that it has; all where there is none.
    pub tools: Option<Vec<String>>,
    /// The tools that it has not.
    pub disallowed_tools: Vec<String>,
    /// The permission mode, if it is one that claude knows.
    pub permission_mode: Option<String>,
    /// Its colour.
    pub color: Option<String>,
    /// Whose it is.
    pub scope: Scope,
    /// Its file.
    pub file: PathBuf,
    /// Files of other agents of this name, which do not count.
    pub shadows: Vec<PathBuf>,
    /// The whole frontmatter, with what is not known here.
    pub fields: Map<String, Value>,
    /// Its system prompt.
    pub prompt: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The file gives no agent.
    Error,
    /// It does, or was never meant to; but look at it.
    Warning,
}

/// What is wrong with a file, where, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The file or folder.
    pub file: PathBuf,
    /// The line, from 1; 0 where it is about the whole.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    pub fix: String,
    /// The agent's name, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// All that was found.
#[derive(Debug, Default, Serialize)]
pub struct Catalog {
    /// The agents that count, by name.
    pub agents: Vec<Agent>,
    /// What is wrong, in the order of the files.
    pub problems: Vec<Finding>,
}

impl Catalog {
    /// The agents as an agent that works in `dir` knows them. `env` is the environment that it would get.
    #[must_use]
    pub fn discover(dir: &Path, env: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut catalog = Self::default();
        let mut known: BTreeMap<String, Agent> = BTreeMap::new();
        let home = env("HOME").map(PathBuf::from);
        let users = claude::config_dir(&env).map(|dir| dir.join("agents"));
        let mut of_project = folders::of_project(dir, home.as_deref());
        // A folder that is both is the user's.
        of_project.retain(|p| users.as_ref().is_none_or(|u| !same(p, u)));
        let users = users.map(|u| (u, Scope::User));
        // From the least to the most important.
        for (folder, scope) in users.into_iter().chain(of_project.into_iter().rev().map(|p| (p, Scope::Project))) {
            for agent in catalog.read_folder(&folder, scope) {
                let earlier = known.remove(&agent.name);
                let mut shadows: Vec<PathBuf> = agent.shadows.clone();
                shadows.extend(earlier.into_iter().flat_map(|e| [vec![e.file], e.shadows].concat()));
                known.insert(agent.name.clone(), Agent { shadows, ..agent });
            }
        }
        catalog.agents = known.into_values().collect();
        catalog
    }

    /// Whether a file gives no agent although it was meant to.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|p| p.level == Level::Error)
    }

    fn note(&mut self, level: Level, file: &Path, line: usize, problem: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(Finding { level, file: file.into(), line, problem: problem.into(), fix: fix.into(), name: None });
    }

    /// The agents of one folder, each name once.
    fn read_folder(&mut self, folder: &Path, scope: Scope) -> Vec<Agent> {
        let mut files = Vec::new();
        self.walk(folder, 0, &mut HashSet::new(), &mut files);
        // As JavaScript sorts: by UTF-16.
        files.sort_by_cached_key(|f| f.to_string_lossy().encode_utf16().collect::<Vec<_>>());
        let mut known: BTreeMap<String, Agent> = BTreeMap::new();
        for file in files {
            let Some(mut agent) = self.read_file(&file, scope) else { continue };
            if let Some(earlier) = known.remove(&agent.name) {
                let problem = format!(
                    "the name `{}` is taken by {} as well: this one counts, since it is the later by path",
                    agent.name,
                    earlier.file.display()
                );
                self.note(Level::Warning, &file, 0, problem, "rename one of the two, or delete it");
                agent.shadows = [vec![earlier.file], earlier.shadows].concat();
            }
            known.insert(agent.name.clone(), agent);
        }
        known.into_values().collect()
    }

    /// Finds `*.md` at any depth.
    fn walk(&mut self, folder: &Path, depth: usize, seen: &mut HashSet<(u64, u64)>, files: &mut Vec<PathBuf>) {
        let Ok(own) = folder.metadata() else { return };
        // A link back to a folder above is gone through once.
        if !own.is_dir() || !seen.insert((own.dev(), own.ino())) {
            return;
        }
        if depth > MAX_DEPTH {
            return self.note(Level::Warning, folder, 0, format!("is deeper than {MAX_DEPTH} folders and not looked at"), "move it up");
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) => return self.note(Level::Error, folder, 0, format!("cannot be read: {e}"), READABLE),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths {
            let is_md = path.as_os_str().as_encoded_bytes().ends_with(b".md");
            match path.metadata() {
                Ok(found) if found.is_dir() => self.walk(&path, depth + 1, seen, files),
                _ if !is_md => {}
                Ok(_) if files.len() == MAX_FILES => {
                    self.note(
                        Level::Warning,
                        folder,
                        0,
                        format!("holds more than {MAX_FILES} files; the others are not read"),
                        "remove some",
                    );
                    return;
                }
                Ok(_) => files.push(path),
                Err(e) => self.note(Level::Error, &path, 0, format!("cannot be read: {e}"), "mend or remove the link"),
            }
        }
    }

    fn read_file(&mut self, file: &Path, scope: Scope) -> Option<Agent> {
        let bytes = match bytes_of(file) {
            Ok(bytes) => bytes,
            Err((problem, fix)) => {
                self.note(Level::Error, file, 0, problem, fix);
                return None;
            }
        };
        let mut checks = checks::Checks::new(file);
        let agent = checks.agent(&bytes, scope);
        checks.findings.sort_by_key(|f| f.line);
        self.problems.extend(checks.findings);
        agent
    }
}

const READABLE: &str = "make it readable for you, or remove it";

fn bytes_of(file: &Path) -> Result<Vec<u8>, (String, &'static str)> {
    let failed = |e: std::io::Error| (format!("cannot be read: {e}"), READABLE);
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(("is no regular file".into(), "remove it"));
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err((
            format!("is longer than {MAX_FILE} bytes: claude does not read it"),
            "shorten it; put the bulk into a file that the prompt names",
        ));
    }
    Ok(bytes)
}

fn same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}
