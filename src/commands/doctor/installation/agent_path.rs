//! The PATH that Claude Code's settings give to an agent. If it lacks askbox's programs, an agent in a session of the user does not find
//! `ask-post`. A run of askbox adds their folder, unless the operator's own arguments replace the run's settings.

use std::path::Path;

use crate::commands::doctor::checkup::{Checkup, edit, is_claude};
use crate::commands::doctor::installation::claude_files;
use askbox_run::launch;
use askbox_run::process::own_programs::HiddenBy;

/// Checks the settings of the user and of the current folder.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    if let Ok(here) = std::env::current_dir() {
        look_in(checkup, &here, None);
    }
}

/// Checks the settings of an agent in this folder, unless they were checked before.
pub(in crate::commands::doctor) fn look_in(checkup: &mut Checkup, folder: &Path, config_dir: Option<&Path>) {
    let Some((_, runner)) = checkup.config.runner.of_claude().filter(|(_, runner)| is_claude(runner)) else { return };
    let Some(config_dir) = config_dir.map(Path::to_path_buf).or_else(claude_files::config_dir) else { return };
    if !checkup.seen.insert(folder.to_path_buf()) {
        return;
    }
    let Some(HiddenBy { file, missing, .. }) = HiddenBy::settings_of(&config_dir, folder) else { return };
    let in_runs = match launch::without_our_settings(&runner) {
        Some(arg) => format!("also in runs of askbox, because of the runner's argument `{arg}`"),
        None => "but in runs of askbox, which add that folder".to_owned(),
    };
    let said = format!(
        "its env.PATH lacks {}, where askbox's programs lie, so an agent does not find `ask-post` and cannot ask; {in_runs}",
        missing.display()
    );
    checkup.report("hidden_programs", file.display().to_string(), said, edit(&file));
}
