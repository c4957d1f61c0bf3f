//! Which calls a rule names. A rule is `Tool`, `Bash(WORDS:*)`, `Bash(COMMAND)` or `Read(GLOB)`.
//!
//! A rule that allows must name a call beyond doubt. A rule that asks or refuses names a call as soon as it may be meant. So the two read
//! a shell command differently.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use crate::tool_names::{BASH, EDIT, GLOB, READ, WRITE};
use askbox_config::{ToolRule, surely};

/// What follows from a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    Allows,
    AsksOrRefuses,
}

/// True if the rule names this call.
pub(super) fn names(rule: &str, tool: &str, input: &Map<String, Value>, cwd: &Path, sense: Sense) -> bool {
    let (of, inner) = match rule.split_once('(') {
        Some((of, inner)) => (of, inner.strip_suffix(')')),
        None => (rule, Some("")),
    };
    // What is not understood allows nothing, and refuses all calls of its tool.
    let Some(inner) = inner else { return of == tool && sense == Sense::AsksOrRefuses };
    // As in Claude Code, `Edit` names Write too, and `Read` names Glob.
    let fits = of == tool || (of == EDIT && tool == WRITE) || (of == READ && tool == GLOB);
    match (tool, inner) {
        _ if !fits => false,
        (_, "") => true,
        (READ | WRITE | EDIT | GLOB, glob) => file_of(tool, input, cwd).is_some_and(|path| matches_glob(glob, &path, cwd)),
        (BASH, words) => match (sense, input.get("command").and_then(Value::as_str)) {
            (Sense::Allows, Some(command)) => surely::is_named_by(command, words),
            (Sense::Allows, None) => false,
            (Sense::AsksOrRefuses, _) => ToolRule::parse(rule).map_or(true, |rule| rule.names(tool, input)),
        },
        _ => sense == Sense::AsksOrRefuses,
    }
}

/// The file or folder that a call is about, as an absolute path without `..` and links.
pub(super) fn file_of(tool: &str, input: &Map<String, Value>, cwd: &Path) -> Option<PathBuf> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let path = if tool == GLOB { text("path").unwrap_or(".") } else { text("file_path")? };
    let path = cwd.join(path);
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    // The file may not exist yet. Then the nearest folder that exists says where it really lies.
    let exists = plain.ancestors().find(|path| path.exists())?;
    let real = exists.canonicalize().ok()?;
    Some(match plain.strip_prefix(exists) {
        Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
        _ => real,
    })
}

/// `//x` is an absolute path, `~/x` is in the home, all else is below the working folder. A pattern without `/` fits a name anywhere below.
fn matches_glob(glob: &str, path: &Path, cwd: &Path) -> bool {
    let below = |folder: &Path, glob: &str| format!("{}/{glob}", glob::Pattern::escape(&folder.to_string_lossy()));
    let here = cwd.canonicalize().unwrap_or_else(|_| cwd.into());
    let whole = match (glob.strip_prefix("//"), glob.strip_prefix("~/")) {
        (Some(absolute), _) => format!("/{absolute}"),
        (None, Some(rest)) => below(Path::new(&std::env::var_os("HOME").unwrap_or_default()), rest),
        (None, None) if !glob.contains('/') => below(&here, &format!("**/{glob}")),
        (None, None) => below(&here, glob.trim_start_matches("./").trim_start_matches('/')),
    };
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    glob::Pattern::new(&whole).is_ok_and(|pattern| pattern.matches_path_with(path, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(rule: &str, command: &str, sense: Sense) -> bool {
        let input = Map::from_iter([("command".to_owned(), command.into())]);
        names(rule, "Bash", &input, Path::new("/"), sense)
    }

    #[test]
    fn a_command_is_allowed_only_if_each_part_surely_is_named() {
        for command in
            ["git", "git push", "git log | git diff; git x\ngit y && git z", "git commit -m 'a; b > c $d'", "git log --x=\"a (b)\""]
        {
            assert!(bash("Bash(git:*)", command, Sense::Allows), "{command}");
        }
        for command in [
            "gitx",
            "git; ls",
            "git $(ls)",
            "git \"$(ls)\"",
            "git `ls`",
            "git > f",
            "git & ls",
            "X=1 git",
            "(git)",
            "git 'x",
            "git \\\nls",
            "",
            " ",
        ] {
            assert!(!bash("Bash(git:*)", command, Sense::Allows), "{command}");
        }
        assert!(bash("Bash(make all)", "make all", Sense::Allows) && !bash("Bash(make all)", "make all x", Sense::Allows));
        assert!(bash("Bash", "rm -rf /", Sense::Allows) && !bash("Read", "ls", Sense::Allows));
    }

    #[test]
    fn a_command_is_asked_about_as_soon_as_it_may_be_named() {
        for command in ["git push", "cd x && git push", "sudo git push", "bash -c 'git push'"] {
            assert!(bash("Bash(git push:*)", command, Sense::AsksOrRefuses), "{command}");
        }
        assert!(!bash("Bash(git push:*)", "ls", Sense::AsksOrRefuses));
        assert!(bash("Bash(git push:*", "ls", Sense::AsksOrRefuses), "a rule that is not understood refuses the whole tool");
    }

    #[test]
    fn a_file_rule_names_the_files_of_its_glob_and_no_way_around() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        for name in ["docs/deep", "src", "docs-2"] {
            std::fs::create_dir_all(cwd.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/etc", cwd.join("docs/link")).unwrap();
        let named = |rule: &str, tool: &str, path: &str| {
            let input = Map::from_iter([("file_path".to_owned(), path.into())]);
            names(rule, tool, &input, &cwd, Sense::Allows)
        };
        let absolute = format!("Read(/{}/docs/a.md)", cwd.display());
        for (rule, tool, path) in [
            ("Read(docs/**)", "Read", "docs/deep/a.md"),
            ("Read(./docs/*)", "Read", "docs/a.md"),
            ("Read(*.md)", "Read", "docs/deep/a.md"),
            ("Edit(src/**)", "Write", "src/new.rs"),
            (absolute.as_str(), "Read", "docs/../docs/a.md"),
            ("Read", "Read", "/etc/passwd"),
        ] {
            assert!(named(rule, tool, path), "{rule} {path}");
        }
        for (rule, tool, path) in [
            ("Read(docs/**)", "Read", "docs/../src/a"),
            ("Read(docs/**)", "Read", "docs/link/passwd"),
            ("Read(docs/*)", "Read", "docs/deep/a.md"),
            ("Read(docs/**)", "Read", "docs-2/a"),
            ("Read(docs/**)", "Edit", "docs/a.md"),
            ("Read(docs/**", "Read", "docs/a.md"),
        ] {
            assert!(!named(rule, tool, path), "{rule} {path}");
        }
    }
}
