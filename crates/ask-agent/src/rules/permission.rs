//! Files that no mode and no rule opens for writing: those that decide about later calls, and those that other programs run by
//! themselves. A person or a hook decides about each such call. The list is Claude Code's, with our own files. As in Claude Code,
//! `bypassPermissions` protects nothing.
//!
//! Whether a call may be made, before any hook has its say: the rules of the settings, and the permission mode.

use std::path::{Path, PathBuf};

use crate::history::Call;
use crate::host::Host;
use crate::place::{Place, real};
use crate::rules::hooks::HookDecision;
use crate::rules::pattern::{Sense, allow, names, names_found};
use crate::tool_names::{ASK_USER, EDIT, GLOB, GREP, READ, TASK, TODO, WRITE};
use askbox_agent::claude;
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
