//! The folders of a run's fence, and whether the run has one.

use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::attempt::record::Run;
use crate::process::programs;
use askbox_agent::claude;
use askbox_config::{Config, FenceMode};
use askbox_fence::Fence;
use askbox_mailbox::{Error, Folder, IoContext, Mailbox, Result, disk};

/// The folder in that of an attempt into which the run writes.
pub const ASKS: &str = "asks";

/// The folder in `asks` that the run sees as `pending`: a question that it writes by hand lies there.
pub const HAND_MADE: &str = "pending";

/// The folder in `asks` where the run sees the mailbox's own `pending`.
pub const PENDING: &str = "mailbox-pending";

/// The folder of the system's configuration for `ssh`.
const OF_SSH: &str = "/etc/ssh/ssh_config.d";

/// The folder of a run's requests.
pub fn asks(mailbox: &Mailbox, run: &Run) -> PathBuf {
    run.folder(mailbox).join(ASKS)
}

/// The fence of a run's agent. `None` if the configuration or this system has none for it.
///
/// # Errors
/// [`Error::Failed`] if the configuration asks for one and this system has none. [`Error::Io`] if a folder cannot be made.
pub fn of_run(mailbox: &Mailbox, config: &Config, run: &Run) -> Result<Option<Fence>> {
    let fence = &config.fence;
    if fence.mode == FenceMode::Off || fence.except.iter().any(|pattern| pattern.fits(run.workflow_id.as_str())) {
        return Ok(None);
    }
    if fence.mode == FenceMode::Auto && askbox_fence::obstacle().is_some() {
        return Ok(None);
    }
    let asks = asks(mailbox, run);
    disk::touch_folder(&asks)?;
    disk::touch_folder(&asks.join(HAND_MADE))?;
    disk::touch_folder(&asks.join(PENDING))?;
    let needed = [run.cwd.clone(), run.config_dir.clone()];
    let around = of_session(mailbox, config, needed.into_iter().flatten())?;
    let root = &around.read_only[0];
    let below = |path: &Path| path.strip_prefix(mailbox.root()).map_or_else(|_| path.to_path_buf(), |below| root.join(below));
    Ok(Some(Fence {
        shown: vec![below(&mailbox.runs_of_workflow(&run.workflow_id))],
        instead: vec![(below(&asks.join(HAND_MADE)), root.join(Folder::Pending.name()))],
        also: vec![(root.join(Folder::Pending.name()), below(&asks.join(PENDING)))],
        writable: vec![below(&asks)],
        is_must: fence.mode == FenceMode::On,
        ..around
    }))
}

/// The fence of a session that a person starts. `needed` are paths that must not be covered.
///
/// # Errors
/// [`Error::Failed`] if this system has none. [`Error::Io`] if a folder cannot be made.
pub fn of_session(mailbox: &Mailbox, config: &Config, needed: impl Iterator<Item = PathBuf>) -> Result<Fence> {
    if let Some(obstacle) = askbox_fence::obstacle() {
        return Err(Error::failed(format!("there is no fence for this run: {}", obstacle.why), obstacle.todo));
    }
    let root = mailbox.root().canonicalize().io("find", mailbox.root())?;
    let mut covered = vec![root.join("locks"), root.join("runs")];
    covered.extend(covered_by(config, mailbox, needed)?);
    // OpenSSH refuses each file there that belongs neither to root nor to the user, and behind the fence root is nobody.
    covered.extend([OF_SSH.into()].into_iter().filter(|folder: &PathBuf| folder.is_dir() && !rustix::process::geteuid().is_root()));
    Ok(Fence { read_only: [root].into_iter().chain(programs()).collect(), covered, is_must: true, ..Fence::default() })
}

/// The folder of askbox's programs. In a folder with other programs, where an agent may install one, only their files.
fn programs() -> Vec<PathBuf> {
    let folder = programs::relaunch().ok().and_then(|ours| ours.canonicalize().ok()?.parent().map(Path::to_path_buf));
    // The packages of a system put them where this user changes nothing anyway.
    let Some(folder) = folder.filter(|folder| rustix::fs::access(folder, Access::WRITE_OK).is_ok()) else { return Vec::new() };
    let programs = disk::entries(&folder).into_iter().flatten().flatten().map(|entry| folder.join(entry.name));
    let (ours, others): (Vec<_>, Vec<_>) = programs.filter(|path| programs::is_executable(path)).partition(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["ask-", "askbox"].iter().any(|ours| name.starts_with(ours)) || ["checkpoint", "relaunch"].contains(&&*name)
    });
    if others.is_empty() { vec![folder] } else { ours }
}

/// The folders of the configuration and of the key that signs answers, as far as they can be covered: a folder that holds the home folder,
/// the mailbox, the agent's configuration or the working folder cannot.
///
/// # Errors
/// [`Error::Io`] if the folder of the configuration cannot be made.
fn covered_by(config: &Config, mailbox: &Mailbox, needed: impl Iterator<Item = PathBuf>) -> Result<Vec<PathBuf>> {
    let of_configuration = askbox_config::location().and_then(|file| Some(file.parent()?.to_path_buf()));
    // Otherwise the run could make it.
    of_configuration.iter().try_for_each(|folder| disk::create_folder(folder))?;
    let key = &config.answers.sign_key;
    let of_key = key.parent().filter(|_| !key.as_os_str().is_empty()).map(Path::to_path_buf);
    let needed: Vec<PathBuf> = [std::env::home_dir(), claude::config_dir(|name| std::env::var_os(name))]
        .into_iter()
        .flatten()
        .chain([mailbox.root().to_path_buf(), std::env::temp_dir()])
        .chain(needed)
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    let folders = of_configuration.into_iter().chain(of_key).filter_map(|folder| folder.canonicalize().ok());
    let mut found: Vec<PathBuf> = folders.filter(|folder| !needed.iter().any(|path| path.starts_with(folder))).collect();
    found.dedup();
    Ok(found)
}
