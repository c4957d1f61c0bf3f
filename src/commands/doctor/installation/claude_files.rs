//! Claude Code's folder and settings, as far as they decide whether an agent waits for its answer, and whether its session is found again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::commands::doctor::checkup::{Checkup, edit};
use askbox_agent::claude::{self, CONFIG_DIR};
use askbox_agent::transcript;
use askbox_mailbox::{Question, disk, text, time, without_bom};
use askbox_run::story::cause::edit_configuration;

/// The maximum size of a settings file.
const LONGEST: u64 = 16 << 20;
/// The maximum size of a hook that is read.
const LONGEST_HOOK: u64 = 64 << 10;
/// The settings of the machine's administrator, on Linux and on macOS.
pub(super) const MANAGED: [&str; 2] =
    ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];
/// How long Claude Code keeps a transcript if no settings say it.
const DEFAULT_DAYS: u64 = 30;
/// The hooks that may refuse the end of a turn.
const STOPS: [&str; 2] = ["Stop", "SubagentStop"];

/// The text of a settings file. Empty if it cannot be read.
pub(super) fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(without_bom(&disk::read(path, LONGEST).unwrap_or_default())).into_owned()
}

/// A settings file. `null` if it cannot be read.
pub(super) fn settings(path: &Path) -> Value {
    serde_json::from_str(&text_of(path)).unwrap_or_default()
}

/// The folder of `claude`, as this process has it.
pub(super) fn config_dir() -> Option<PathBuf> {
    claude::config_dir(|name| std::env::var_os(name))
}

/// Checks the folder that `CLAUDE_CONFIG_DIR` names, and the hooks of the user and of the current folder.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some((name, runner)) = checkup.config.runner.of_claude() else { return };
    let own = runner.env.get(CONFIG_DIR).map(|dir| (format!("runner.{name}.env"), dir.clone(), edit_configuration()));
    let here = std::env::var(CONFIG_DIR).ok().map(|dir| (format!("${CONFIG_DIR}"), dir, format!("export {CONFIG_DIR}=\"$HOME/.claude\"")));
    let dirs = checkup.config.relaunch.config_dirs.iter().map(|dir| ("relaunch.config_dirs".to_owned(), dir.display().to_string()));
    let dirs = dirs.map(|(key, dir)| (key, dir, edit_configuration()));
    for (subject, dir, mend) in own.into_iter().chain(here).chain(dirs).collect::<Vec<_>>() {
        if dir.is_empty() || Path::new(&dir).is_absolute() {
            continue;
        }
        let why = match dir.starts_with('~') {
            true => "no shell replaces the `~` here, so each project has a folder of that name",
            false => "it is relative, so each project has a folder of its own",
        };
        let said = format!("{CONFIG_DIR} is `{}`: {why}; write the whole path", text::excerpt(&dir, 200));
        checkup.report("config_dir", subject, said, mend);
    }
    if let Ok(here) = std::env::current_dir() {
        stop_hooks(checkup, &here, None);
    }
}

/// Checks the settings of the agent that asked this.
pub(in crate::commands::doctor) fn of_question(checkup: &mut Checkup, question: &Question, asked: Duration) {
    let Some(folder) = question.cwd.as_deref() else { return };
    stop_hooks(checkup, folder, question.config_dir.as_deref());
    let Some(session) = question.session_id.filter(|_| question.codex_thread().is_none()) else { return };
    let files = files_for(folder, question.config_dir.as_deref());
    let set = files.iter().rev().find_map(|file| Some((file, settings(file)["cleanupPeriodDays"].as_u64()?)));
    let Some((file, days)) = set.or_else(|| Some((files.first()?, DEFAULT_DAYS))) else { return };
    let long = Duration::from_secs(days.saturating_mul(86_400));
    // A watcher renews the transcript while the question waits.
    let renewed = || {
        let transcript = transcript::find(&question.config_dir.clone().or_else(config_dir)?, &session.to_string())?;
        transcript.metadata().ok()?.modified().ok()?.elapsed().ok()
    };
    if asked <= long || renewed().is_some_and(|unused| unused <= long) {
        return;
    }
    let said = format!(
        "asked {} ago, and claude removes a session {days} days after its last use (cleanupPeriodDays): its answer may find no session",
        time::human(asked)
    );
    checkup.report("transcripts", question.workflow_id.as_str(), said, edit(file));
}

/// The settings files of an agent in this folder. The last one that says something wins.
pub(super) fn files_for(folder: &Path, of_user: Option<&Path>) -> Vec<PathBuf> {
    let user = of_user.map(Path::to_path_buf).or_else(config_dir).map(|dir| dir.join("settings.json"));
    let of_folder = ["settings.json", "settings.local.json"].map(|name| folder.join(".claude").join(name));
    user.into_iter().chain(of_folder).chain(MANAGED.map(PathBuf::from)).collect()
}

/// Reports hooks that can refuse the end of a turn, unless the same file was checked before.
fn stop_hooks(checkup: &mut Checkup, folder: &Path, config_dir: Option<&Path>) {
    if checkup.config.runner.of_claude().is_none() {
        return;
    }
    for file in files_for(folder, config_dir) {
        if !checkup.seen.insert(file.clone()) {
            continue;
        }
        let settings = settings(&file);
        let hooks = STOPS.iter().flat_map(|event| settings["hooks"][event].as_array().into_iter().flatten().map(move |one| (event, one)));
        let each = hooks.flat_map(|(event, one)| one["hooks"].as_array().into_iter().flatten().map(move |hook| (event, hook)));
        let found = each.filter(|_| settings["disableAllHooks"] != true).find(|(_, hook)| can_refuse(hook, folder));
        let Some((event, hook)) = found else { continue };
        let what = hook["command"].as_str().or_else(|| hook["prompt"].as_str()).unwrap_or_default();
        let said = format!(
            "its hook {event} can refuse the end of a turn, so an agent that has asked goes on without its answer: {}",
            text::excerpt(what, 120)
        );
        checkup.report("stop_hook", file.display().to_string(), said, edit(&file));
    }
}

/// True if a hook can refuse the end of a turn, as far as its text and the files that it names tell.
fn can_refuse(hook: &Value, folder: &Path) -> bool {
    let Some(command) = hook["command"].as_str() else { return ["prompt", "agent"].iter().any(|kind| hook["type"] == **kind) };
    let home = std::env::var("HOME").unwrap_or_default();
    let in_place =
        command.replace("${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR").replace("$CLAUDE_PROJECT_DIR", &folder.to_string_lossy());
    let in_place = in_place.replace("$HOME", &home).replace("~/", &format!("{home}/")).replace(['"', '\''], "");
    let scripts = in_place.split_whitespace().map(|part| folder.join(part)).filter(|path| path.is_file());
    let texts = scripts.filter_map(|path| disk::read(&path, LONGEST_HOOK).ok()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let refuses = |text: &str| (text.contains("decision") && text.contains("block")) || text.contains("exit 2") || text.contains("exit(2)");
    refuses(command) || refuses(&texts.collect::<String>())
}
