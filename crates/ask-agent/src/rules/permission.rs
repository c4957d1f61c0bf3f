//! Files that no mode and no rule opens for writing: those that decide about later calls, and those that other programs run by
//! themselves. A person or a hook decides about each such call. The list is Claude Code's, with our own files. As in Claude Code,
//! `bypassPermissions` protects nothing.
//!
//! Whether a call may be made, before any hook has its say: the rules of the settings, and the permission mode.

use std::path::{Path, PathBuf};

use crate::history::Call;
use crate::host::Host;
use crate::place::{Place, real};
use crate::rules::hooks::Decision;
use crate::rules::pattern::{Sense, names, names_found};
use crate::tool_names::{ASK_USER, BASH, EDIT, GLOB, READ, TASK, TODO, WRITE};
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

/// Decides about a call. If a hook has allowed it, only rules that refuse still count.
pub(crate) fn decide(host: &Host, call: &Call, place: Option<&Place>, hook: Decision) -> Permission {
    let named = |rules: &[String], sense| rules.iter().find(|rule| names(rule, call, place, &host.cwd, sense)).cloned();
    let refused = |why: String| Permission::Refused(format!("Permission to use {} has been denied: {why}.", call.name));
    if let Some(rule) = named(&host.settings.deny, Sense::AsksOrRefuses) {
        return refused(format!("the rule `{rule}` refuses it"));
    }
    let mode = host.args.mode();
    if hook == Decision::Allow || mode == "bypassPermissions" {
        return if hook == Decision::Ask { Permission::Ask } else { Permission::Allowed };
    }
    if mode == "plan" && matches!(call.name.as_str(), BASH | WRITE | EDIT) {
        return refused("this session only plans (--permission-mode plan)".into());
    }
    let is_here = || place.is_some_and(|place| place.path.starts_with(real(&host.cwd)));
    let is_free = match call.name.as_str() {
        TODO | TASK | ASK_USER => true,
        READ | GLOB => is_here(),
        WRITE | EDIT => mode == "acceptEdits" && is_here(),
        _ => false,
    };
    let is_asked_about = named(&host.settings.ask, Sense::AsksOrRefuses).is_some();
    let is_allowed = !is_asked_about && (is_free || named(&host.settings.allow, Sense::Allows).is_some());
    let writes = matches!(call.name.as_str(), WRITE | EDIT);
    let is_protected = is_allowed && writes && place.is_some_and(|place| is_protected(host, place));
    match is_allowed && !is_protected {
        true if hook != Decision::Ask => Permission::Allowed,
        false if mode == "dontAsk" && is_protected => refused("the path is protected, and nobody is asked".into()),
        false if mode == "dontAsk" => refused("no rule allows this call".into()),
        _ => Permission::Ask,
    }
}

/// True if a rule refuses to show this file in the result of a search.
pub(crate) fn is_hidden(host: &Host, path: &Path) -> bool {
    host.settings.deny.iter().any(|rule| names_found(rule, path, &host.cwd))
}
