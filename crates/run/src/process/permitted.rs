//! Checks the folders that questions and records name against those that the operator permits. Anybody who can write a file into the
//! mailbox can make a record say anything. So each launch checks again, in the process that launches and with its configuration.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::attempt::record::Run;
use askbox_agent::claude::{self, CONFIG_DIR};
use askbox_config::{Config, Runner};
use askbox_mailbox::platform::files;
use askbox_mailbox::{Error, IoContext, Result, disk, layout};

/// The folder that `CLAUDE_CONFIG_DIR` names for an agent that works in `cwd`. As for `claude`, a relative one lies below that.
pub(crate) fn config_dir_in(cwd: Option<&Path>, dir: &Path) -> PathBuf {
    cwd.map(Path::to_path_buf).or_else(|| layout::home().ok()).unwrap_or_default().join(dir)
}

/// True if an agent may use this folder as its `CLAUDE_CONFIG_DIR`. Settings in it can run commands, so it must be this process's own or
/// the runner's, or be named in the operator's file.
pub(crate) fn config_dir(config: &Config, runner: &Runner, cwd: Option<&Path>, dir: &Path) -> bool {
    let own = claude::config_dir(|name| std::env::var_os(name));
    let of_runner = runner.env.get(CONFIG_DIR).map(PathBuf::from);
    own.into_iter().chain(of_runner).any(|own| config_dir_in(cwd, &own) == dir) || config.relaunch.config_dirs.iter().any(|d| d == dir)
}

/// Returns the folder that an attempt may be launched in, opened.
///
/// # Errors
/// [`Error::Failed`] if the operator does not permit the folder or the configuration folder of the record. No other folder is chosen
/// instead, because the attempt may continue a session that lies there.
pub fn of_launch(config: &Config, run: &Run) -> Result<WorkFolder> {
    let (_, runner) = config.runner.find(Some(&run.runner))?;
    let cwd = run.cwd.as_deref();
    if let Some(dir) = run.config_dir.as_deref().filter(|dir| !config_dir(config, &runner, cwd, dir)) {
        return Err(Error::failed(
            format!("{} is not used as CLAUDE_CONFIG_DIR: it is not in relaunch.config_dirs", dir.display()),
            format!("add it there and go on with: relaunch retry {}", run.workflow_id),
        ));
    }
    match cwd {
        Some(cwd) if cwd.is_relative() => Err(Error::failed(
            format!("the agent's folder {} is not an absolute path", cwd.display()),
            format!("name its folder: relaunch retry {} --cwd DIR", run.workflow_id),
        )),
        Some(cwd) => WorkFolder::open(config, cwd),
        None => WorkFolder::open(config, &layout::home().unwrap_or_else(|_| "/".into())),
    }
}

/// The folder that an agent is launched in. It is held open, so that the folder that was checked is the one that is used, even if its
/// name leads somewhere else by then.
#[derive(Debug)]
pub struct WorkFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl WorkFolder {
    /// Opens a folder, if it lies under one of `relaunch.cwd_roots` after links are resolved, or is the home folder.
    ///
    /// # Errors
    /// [`Error::Failed`] if it does not exist or is not permitted.
    pub fn open(config: &Config, dir: &Path) -> Result<Self> {
        let folder = disk::open_folder(dir).map_err(|e| match e.is_missing_file() {
            true => Error::failed(format!("the agent's folder {} does not exist", dir.display()), "make it, or answer from another folder"),
            false => e,
        })?;
        let path = files::real_path(&folder).io("look at", dir)?;
        let roots = &config.relaunch.cwd_roots;
        let is_under = |root: &Path| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        let is_home = || layout::home().ok().and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == path);
        if roots.is_empty() || roots.iter().any(|root| is_under(root)) || is_home() {
            return Ok(Self { folder, path });
        }
        let leads_to = if path == dir { String::new() } else { format!(" leads to {}, which", path.display()) };
        Err(Error::failed(
            format!("the agent's folder {}{leads_to} is not under relaunch.cwd_roots", dir.display()),
            "put the folder back, or add it there",
        ))
    }

    /// The path that it had when it was opened, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// [`path`](Self::path), owned.
    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// A path that leads to exactly this folder, as long as this process or a child before its `exec` uses it.
    pub fn to_start_in(&self) -> PathBuf {
        files::path_to_start_in(&self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    fn under(root: &Path) -> Config {
        let mut config = Config::default();
        config.relaunch.cwd_roots = vec![root.to_path_buf()];
        config
    }

    #[test]
    fn a_folder_replaced_by_a_link_after_the_check_is_still_used() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("roots/a")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        let folder = WorkFolder::open(&under(&at("roots")), &at("roots/a")).unwrap();
        fs::rename(at("roots/a"), at("roots/b")).unwrap();
        symlink(at("outside"), at("roots/a")).unwrap();
        let pwd = Command::new("pwd").arg("-P").current_dir(folder.to_start_in()).output().unwrap();
        assert_eq!(String::from_utf8(pwd.stdout).unwrap().trim_end(), at("roots/b").to_str().unwrap());
        let error = WorkFolder::open(&under(&at("roots")), &at("roots/a")).unwrap_err().to_string();
        assert!(error.contains("leads to") && error.contains("relaunch.cwd_roots"), "{error}");
        // Without roots every folder is permitted.
        assert_eq!(WorkFolder::open(&Config::default(), &at("roots/a")).unwrap().into_path(), at("outside"));
    }

    #[test]
    fn a_folder_whose_name_only_begins_like_a_root_is_not_under_it() {
        let place = tempfile::tempdir().unwrap();
        for name in ["src", "src-other"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        let config = under(&place.path().join("src"));
        assert!(WorkFolder::open(&config, &place.path().join("src")).is_ok());
        assert!(WorkFolder::open(&config, &place.path().join("src-other")).is_err());
        assert!(WorkFolder::open(&config, &place.path().join("src/../src-other")).is_err());
    }
}
