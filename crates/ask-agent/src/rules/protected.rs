//! Files that no mode and no rule opens for writing: those that decide about later calls, and those that other programs run by
//! themselves. A person or a hook decides about each such call. The list is Claude Code's, with our own files. As in Claude Code,
//! `bypassPermissions` protects nothing.

use std::path::{Path, PathBuf};

use crate::host::Host;
use crate::place::{Place, real};
use askbox_agent::claude;
use askbox_mailbox::Mailbox;

/// The names of files, and of folders with all that is in them.
const NAMES: [&str; 45] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bunfig.toml",
    ".cargo",
    ".claude",
    ".claude.json",
    ".config/askbox",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd",
    ".devcontainer",
    ".devcontainer.json",
    ".envrc",
    ".git",
    ".gitconfig",
    ".gitmodules",
    ".gnupg",
    ".husky",
    ".idea",
    ".kshrc",
    ".login",
    ".mcp.json",
    ".mvn",
    ".npmrc",
    ".pam_environment",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".ripgreprc",
    ".ssh",
    ".vscode",
    ".xprofile",
    ".yarn",
    ".yarnrc",
    ".yarnrc.yml",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

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
    NAMES.iter().any(|name| text.contains(&format!("/{name}/")))
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
    let named = folders.flat_map(|folder| NAMES.iter().map(|name| folder.join(name))).filter(|path| path.symlink_metadata().is_ok());
    let own = [
        claude::config_dir(|name| std::env::var_os(name)),
        Mailbox::locate(host.args.mailbox.as_deref()).ok(),
        askbox_config::location(),
        host.args.settings.as_ref().map(|file| host.cwd.join(file)),
    ];
    named.chain(own.into_iter().flatten()).map(|path| real(&path)).collect()
}
