//! The PATH that Claude Code's settings give to an agent. If it lacks askbox's programs, an agent in a session of the user does not find
//! `ask-post`. A run of askbox adds their folder, unless the operator's own arguments replace the run's settings.

use std::path::Path;

use crate::commands::doctor::checkup::{Checkup, edit};
use askbox_agent::claude;
use askbox_run::process::launch;
use askbox_run::process::own_programs::HiddenBy;

const KIND: &str = "hidden_programs";

/// Checks the settings of the user and of the current folder.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    if let Ok(here) = std::env::current_dir() {
        look_in(checkup, &here, None);
    }
}

/// Checks the settings of an agent in this folder, unless they were checked before.
pub(in crate::commands::doctor) fn look_in(checkup: &mut Checkup, folder: &Path, config_dir: Option<&Path>) {
    let Some((_, runner)) = checkup.config.runner.of_claude() else { return };
    let is_claude = Path::new(&runner.program).file_name().is_some_and(|name| name == "claude");
    let config_dir = config_dir.map(Path::to_path_buf).or_else(|| claude::config_dir(|name| std::env::var_os(name)));
    let Some(config_dir) = config_dir.filter(|_| is_claude && checkup.agent_folders.insert(folder.to_path_buf())) else { return };
    let Some(HiddenBy { file, missing, .. }) = HiddenBy::settings_of(&config_dir, folder) else { return };
    let shown = file.display().to_string();
    if checkup.findings.has(KIND, &shown) {
        return;
    }
    let in_runs = match launch::without_our_settings(&runner) {
        Some(arg) => format!("also in runs of askbox, because of the runner's argument `{arg}`"),
        None => "but in runs of askbox, which add that folder".to_owned(),
    };
    let said = format!(
        "its env.PATH lacks {}, where askbox's programs lie, so an agent does not find `ask-post` and cannot ask; {in_runs}",
        missing.display()
    );
    checkup.report(KIND, shown, said, edit(&file));
}
