//! Files that no mode and no rule opens for writing: those that decide about later calls, and those that other programs run by
//! themselves. A person or a hook decides about each such call. The list is Claude Code's, with our own files. As in Claude Code,
//! `bypassPermissions` protects nothing.
//!
//! Whether a call may be made, before any hook has its say: the rules of the settings, and the permission mode.
//!
//! Which calls a rule names. A rule is `Tool`, `Bash(WORDS:*)`, `Bash(COMMAND)` or `Read(GLOB)`.
//!
//! A rule that allows must name a call beyond doubt. A rule that asks or refuses names a call as soon as it may be meant. So the two read
//! a shell command differently.

use std::path::{Path, PathBuf};

use crate::history::Call;
use crate::host::Host;
use crate::place::{Place, literal_folder, real};
use crate::rules::hooks::HookDecision;
use crate::tool_names::{ASK_USER, BASH, EDIT, GLOB, GREP, READ, TASK, TODO, WRITE};
use askbox_agent::claude;
use askbox_config::{ToolRule, surely};
use askbox_mailbox::Mailbox;

/// The names of files, and of folders with all that is in them.
const NAMES: &str = ".bash_aliases .bash_login .bash_logout .bash_profile .bashrc .bunfig.toml .cargo .claude .claude.json .config/askbox \
    .config/autostart .config/environment.d .config/fish .config/git .config/systemd .devcontainer .devcontainer.json .envrc .git \
    .gitconfig .gitmodules .gnupg .husky .idea .kshrc .login .mcp.json .mvn .npmrc .pam_environment .pnp.cjs .pnp.loader.mjs \
    .pre-commit-config.yaml .profile .ripgreprc .ssh .vscode .xprofile .yarn .yarnrc .yarnrc.yml .zlogin .zprofile .zshenv .zshrc";

/// True if a file is protected.
pub(super) fn is_protected(host: &Host, place: &Place) -> bool {
    let here = real(&host.cwd);
    is_named(&place.path, &here)
        || is_named(&place.spelled, &here)
        || places(host).iter().any(|protected| lies_in(&place.path, protected, &here))
}

/// True if a part of the path below the working folder has a protected name. Some disks ignore upper and lower case.
fn is_named(path: &Path, here: &Path) -> bool {
    let below = path.strip_prefix(here).unwrap_or(path);
    let text = format!("/{}/", below.to_string_lossy().trim_matches('/').to_ascii_lowercase());
    NAMES.split(' ').any(|name| text.contains(&format!("/{name}/")))
}

/// True if the path is the protected one or lies in it. An agent may work in a folder deep inside, such as a worktree in `.claude`.
fn lies_in(path: &Path, protected: &Path, here: &Path) -> bool {
    let works_inside = here != protected && here.starts_with(protected) && path.starts_with(here);
    path.starts_with(protected) && !works_inside
}

/// Where the settings, the mailbox and the configuration really lie, and where the protected names of the working folder and of the home
/// lead. Any of them may be a link.
fn places(host: &Host) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let folders = [Some(&host.cwd), home.as_ref()].into_iter().flatten();
    let named = folders.flat_map(|folder| NAMES.split(' ').map(|name| folder.join(name))).filter(|path| path.symlink_metadata().is_ok());
    let own = [
        claude::config_dir(|name| std::env::var_os(name)),
        Mailbox::locate(host.args.mailbox.as_deref()).ok(),
        askbox_config::location(),
        host.args.settings.as_ref().map(|file| host.cwd.join(file)),
    ];
    named.chain(own.into_iter().flatten()).map(|path| real(&path)).collect()
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permission {
    Allowed,
    /// A person decides.
    Ask,
    /// The model reads these words.
    Refused(String),
}

/// Decides about a call, as Claude Code does: `tests/claude/permissions.txt` compares both. Rules that refuse or ask, and the modes that
/// only plan or ask nobody, stand above a hook that allows.
pub(crate) fn decide(host: &Host, call: &Call, place: Option<&Place>, hook: HookDecision) -> Permission {
    let named = |rules: &[String]| rules.iter().find(|rule| names(rule, call, place, &host.cwd, Sense::AsksOrRefuses)).cloned();
    let refused = |why: &str| Permission::Refused(format!("Permission to use {} has been denied: {why}.", call.name));
    if let Some(rule) = named(&host.settings.deny) {
        return refused(&format!("the rule `{rule}` refuses it"));
    }
    let (mode, is_asked_about) = (host.args.mode(), named(&host.settings.ask).is_some());
    let (reads, writes) = (matches!(call.name.as_str(), READ | GLOB | GREP), matches!(call.name.as_str(), WRITE | EDIT));
    if hook == HookDecision::Ask || is_asked_about && mode != "dontAsk" || writes && mode == "plan" {
        return Permission::Ask;
    }
    let is_here = || place.is_some_and(|place| place.path.starts_with(real(&host.cwd)));
    // While it plans, a rule for the whole shell allows nothing.
    let counts = |rule: &&String| mode != "plan" || rule.contains('(');
    let has_rule = || allow(&host.settings.allow.iter().filter(counts).collect::<Vec<_>>(), call, place, &host.cwd);
    let is_allowed = match mode {
        "bypassPermissions" => return Permission::Allowed,
        _ if is_asked_about => false,
        _ if matches!(call.name.as_str(), TODO | TASK | ASK_USER) => true,
        "plan" => reads || has_rule(),
        _ => hook == HookDecision::Allow || (reads || writes && mode == "acceptEdits") && is_here() || has_rule(),
    };
    let is_protected = is_allowed && writes && place.is_some_and(|place| is_protected(host, place));
    match mode {
        _ if is_allowed && !is_protected => Permission::Allowed,
        "plan" => refused("this session only plans (--permission-mode plan)"),
        "dontAsk" if is_protected => refused("the path is protected, and nobody is asked"),
        "dontAsk" => refused("no rule allows this call"),
        _ => Permission::Ask,
    }
}

/// True if a rule refuses to show this file in the result of a search.
pub(crate) fn is_hidden(host: &Host, path: &Path) -> bool {
    host.settings.deny.iter().any(|rule| names_found(rule, path, &host.cwd))
}

/// What follows from a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Allows,
    AsksOrRefuses,
}

/// A rule's tool, and the text in its parentheses. `None` for a text without an end.
fn parts(rule: &str) -> (&str, Option<&str>) {
    if let Some((of, inner)) = rule.split_once('(') { (of, inner.strip_suffix(')')) } else { (rule, Some("")) }
}

/// True if the rule names this call, which is about this place.
fn names(rule: &str, call: &Call, place: Option<&Place>, cwd: &Path, sense: Sense) -> bool {
    let tool = call.name.as_str();
    let (of, inner) = parts(rule);
    // What is not understood allows nothing, and refuses all calls of its tool.
    let Some(inner) = inner else { return of == tool && sense == Sense::AsksOrRefuses };
    // As in Claude Code, `Edit` with a path names Write too, and `Read` names searches.
    let fits = of == tool || (of == EDIT && tool == WRITE && !inner.is_empty()) || (of == READ && [GLOB, GREP].contains(&tool));
    match (tool, inner) {
        _ if !fits => false,
        (_, "") => true,
        (READ | WRITE | EDIT | GLOB | GREP, glob) => place.is_some_and(|place| names_place(glob, tool, place, cwd, sense)),
        (BASH, words) if sense == Sense::Allows => call.text("command").is_some_and(|command| surely::is_named_by(command, &[words])),
        (BASH, _) => rule.parse::<ToolRule>().map_or(true, |rule| rule.names(tool, &call.input)),
        _ => sense == Sense::AsksOrRefuses,
    }
}

/// True if the rules allow this call. Each command of a line needs one of them.
fn allow(rules: &[&String], call: &Call, place: Option<&Place>, cwd: &Path) -> bool {
    let words: Vec<&str> = rules.iter().map(|rule| parts(rule)).filter(|(of, _)| *of == BASH).filter_map(|(_, words)| words).collect();
    let is_named = || call.text("command").is_some_and(|command| surely::is_named_by(command, &words));
    rules.iter().any(|rule| names(rule, call, place, cwd, Sense::Allows)) || call.name == BASH && is_named()
}

/// True if a rule that refuses names a file that a search has found.
fn names_found(rule: &str, path: &Path, cwd: &Path) -> bool {
    let (of, inner) = parts(rule);
    [READ, GLOB, GREP].contains(&of) && inner.is_none_or(|glob| glob.is_empty() || matches_glob(glob, path, cwd, Sense::AsksOrRefuses))
}

/// True if the glob names the file. A search is named by a glob that allows if the glob names all files below the folder, whatever their
/// names; by one that asks or refuses, if it may be meant.
fn names_place(glob: &str, tool: &str, place: &Place, cwd: &Path, sense: Sense) -> bool {
    const ANY: &str = "\u{1}";
    let matches = |path: &Path| matches_glob(glob, path, cwd, sense);
    match (sense, tool) {
        (Sense::Allows, GLOB | GREP) => matches(&place.path.join(ANY)) && matches(&place.path.join(ANY).join(ANY)),
        (Sense::Allows, _) => matches(&place.path),
        (Sense::AsksOrRefuses, _) => {
            [&place.path, &place.spelled].into_iter().any(|path| matches(path) || [GLOB, GREP].contains(&tool) && matches(&path.join(ANY)))
        }
    }
}

/// `//x` is an absolute path, `~/x` is in the home, all else is below the working folder. A pattern without `/` fits a name anywhere below.
fn matches_glob(glob: &str, path: &Path, cwd: &Path, sense: Sense) -> bool {
    let home = || real(&PathBuf::from(std::env::var_os("HOME").unwrap_or_default()));
    let (folder, below) = match (glob.strip_prefix("//"), glob.strip_prefix("~/")) {
        (Some(absolute), _) => ("/".into(), absolute.to_owned()),
        (None, Some(rest)) => (home(), rest.to_owned()),
        (None, None) if !glob.contains('/') => (real(cwd), format!("**/{glob}")),
        (None, None) => (real(cwd), glob.trim_start_matches("./").trim_start_matches('/').to_owned()),
    };
    let fits = |folder: &Path, below: &str| {
        let whole = format!("{}/{}", glob::Pattern::escape(folder.to_string_lossy().trim_end_matches('/')), below.trim_end_matches('/'));
        // A folder stands for all that is in it. A rule that allows has to name that folder without wildcards.
        let depth = if sense == Sense::AsksOrRefuses || !glob.contains(['*', '?', '[']) { usize::MAX } else { 1 };
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let is_in = |pattern: glob::Pattern| path.ancestors().take(depth).any(|path| pattern.matches_path_with(path, options));
        glob::Pattern::new(&whole).is_ok_and(is_in)
    };
    // The operator may name a folder by a link. A rule that allows does not follow it, because the link may be the project's.
    let through_links = || {
        let (literal, rest) = literal_folder(&below);
        fits(&real(&folder.join(literal)), rest)
    };
    fits(&folder, &below) || sense == Sense::AsksOrRefuses && through_links()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn call(tool: &str, key: &str, value: &str) -> Call {
        Call { id: String::new(), name: tool.into(), input: Map::from_iter([(key.to_owned(), value.into())]) }
    }

    fn bash(rule: &str, command: &str, sense: Sense) -> bool {
        names(rule, &call("Bash", "command", command), None, Path::new("/"), sense)
    }

    #[test]
    fn a_command_is_allowed_only_if_each_part_surely_is_named() {
        for command in
            ["git", "git push", "git log | git diff; git x\ngit y && git z", "git commit -m 'a; b > c $d'", "git log --x=\"a (b)\""]
        {
            assert!(bash("Bash(git:*)", command, Sense::Allows), "{command}");
        }
        for command in [
            "gitx", "git; ls", "git $(ls)", "git \"$(ls)\"", "git `ls`", "git > f", "git & ls", "X=1 git", "(git)", "git 'x", "git \\\nls",
            "", " ",
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
            let call = call(tool, "file_path", path);
            let place = Place::of_call(&call, &cwd).unwrap();
            names(rule, &call, place.as_ref(), &cwd, Sense::Allows)
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
