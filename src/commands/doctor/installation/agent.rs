//! The agent program, if it is `claude`: its version, what keeps it from starting, and the PATH that its settings give to an agent.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::time::Duration;

use serde_json::{Value, json};

use crate::commands::doctor::checkup::{Checkup, edit, is_claude, of_run};
use crate::commands::doctor::installation::asked::Asked;
use crate::commands::doctor::installation::claude_files::{self, MANAGED};
use askbox_agent::claude::{CONFIG_DIR, Version};
use askbox_config::Runner;
use askbox_mailbox::{text, without_bom};
use askbox_run::process::own_programs::HiddenBy;
use askbox_run::story::cause::edit_configuration;
use askbox_run::{launch, programs};

/// The maximum time that the program may take to print its version. The real one takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum number of bytes that are read of the program's output.
const LONGEST: u64 = 4096;

/// Asks `claude` for its version, and shows it. A `claude` that ended at once is a problem.
pub(in crate::commands::doctor) fn version(checkup: &mut Checkup) {
    let Some((name, runner)) = checkup.config.runner.of_claude() else { return };
    let Ok(program) = programs::find(Path::new(&runner.program)) else { return };
    if program.file_name().is_none_or(|name| name != "claude") {
        return;
    }
    let (said, last_words) = heard(&program).unwrap_or_default();
    let version = Version::parse(&said);
    if version.is_none() && !last_words.is_empty() {
        let command = format!("{} --version", text::path_word(&program));
        let said = format!("`{command}` ended at once and named no version{last_words}");
        checkup.report("agent_cannot_start", format!("runner.{name}.program"), said, command);
    }
    let (tested, path) = (version.is_some_and(Version::is_tested), text::file_name(&program));
    let Some(version) = version else {
        let words = format!("The agent program {path} does not say its version.\n");
        return checkup.facts.add("agent", &json!({ "program": program, "tested": tested }), words);
    };
    let whether = if tested { "one of the versions that askbox was tested with" } else { "which askbox was not tested with" };
    let mut words = format!("The agent program is claude {version} ({path}), {whether}.\n");
    let mut fact = json!({ "program": program, "version": version.to_string(), "tested": tested });
    let lacks: Vec<_> = version.lacks().collect();
    if !lacks.is_empty() {
        words.extend(lacks.iter().map(|lack| format!("  With this version, {lack}.\n")));
        fact["lacks"] = json!(lacks);
    }
    checkup.facts.add("agent", &fact, words);
}

/// The output of `--version`.
pub(in crate::commands::doctor) fn said(program: &Path) -> Option<String> {
    heard(program).map(|(said, _)| said)
}

/// The output of `--version`, and the last words on standard error.
fn heard(program: &Path) -> Option<(String, String)> {
    let mut asked = Asked::start(Command::new(program).arg("--version")).ok()?;
    let read = |input, output: ChildStdout| {
        drop(input);
        io::read_to_string(output.take(LONGEST)).ok()
    };
    let said = asked.hear(PATIENCE, read).ok()?;
    Some((said, asked.last_words()))
}

/// What keeps `claude` from starting at all, as far as files and the configuration tell it. A run would say so only once an answer is
/// there. (Measured with Claude Code 2.1.332. A login that is missing shows only at the API.)
const KIND: &str = "agent_cannot_start";

/// The arguments that `disableSideloadFlags` forbids. (`--mcp-config` is refused if it names a server.)
const SIDELOADS: [&str; 4] = ["--plugin-dir", "--plugin-url", "--agents", "--mcp-config"];

/// Checks the runner of Claude Code.
pub(in crate::commands::doctor) fn start(checkup: &mut Checkup) {
    let Some((name, runner)) = checkup.config.runner.of_claude().filter(|(_, runner)| is_claude(runner)) else { return };
    let is_of_another = |id| checkup.config.runner_of(id).is_ok_and(|(other, _)| other != name);
    if checkup.only.as_ref().is_some_and(is_of_another) {
        return;
    }
    if let Some(key) = bypasses_as_root(&runner) {
        let mend = format!("{} (or run askbox as another user)", edit_configuration());
        checkup.report(KIND, format!("runner.{name}.{key}"), "claude refuses to start with it as root", mend);
    }
    let user_folder = of_run(&runner, CONFIG_DIR).or_else(|| of_run(&runner, "HOME")).map(PathBuf::from);
    // Claude keeps there what it knows about its user and the projects.
    let user_file = user_folder.map(|folder| (folder.join(".claude.json"), false));
    let all = user_file.into_iter().chain(MANAGED.map(|path| (path.into(), true)));
    for (path, is_managed) in all.filter(|(path, _)| path.exists()) {
        let (said, mend) = match read_json(&path) {
            Err(why) => (format!("claude refuses to start with it: {why}"), edit(&path)),
            Ok(_) if !is_managed => continue,
            Ok(settings) if !settings.is_object() => ("claude refuses to start with it: it is not a JSON object".to_owned(), edit(&path)),
            Ok(settings) => {
                let is_forbidden = |arg: &&String| SIDELOADS.iter().any(|flag| arg.split('=').next() == Some(flag));
                let forbidden = runner.args.iter().find(is_forbidden).filter(|_| settings["disableSideloadFlags"] == true);
                let Some(arg) = forbidden else { continue };
                let said = format!("disableSideloadFlags forbids `{arg}`, which runner.{name}.args has, so claude refuses to start");
                (said, edit_configuration())
            }
        };
        checkup.report(KIND, path.display().to_string(), said, mend);
    }
}

/// The key of the runner that bypasses every permission, if this process is root's and no sandbox is declared.
fn bypasses_as_root(runner: &Runner) -> Option<&'static str> {
    let is_sandbox = runner.env.contains_key("IS_SANDBOX") || std::env::var_os("IS_SANDBOX").is_some();
    if !rustix::process::geteuid().is_root() || is_sandbox {
        return None;
    }
    let by_mode = (runner.permission_mode == "bypassPermissions").then_some("permission_mode");
    if runner.dangerously_skip_permissions { Some("dangerously_skip_permissions") } else { by_mode }
}

/// Reads a JSON file. Its content is never shown.
fn read_json(path: &Path) -> Result<Value, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    serde_json::from_slice(without_bom(&bytes)).map_err(|e| format!("it is not JSON: {e}"))
}

/// Checks the settings of the user and of the current folder. If their PATH lacks askbox's programs, an agent in a session of the user does
/// not find `ask-post`. A run of askbox adds their folder, unless the operator's own arguments replace the run's settings.
pub(in crate::commands::doctor) fn path(checkup: &mut Checkup) {
    if let Ok(here) = std::env::current_dir() {
        path_in(checkup, &here, None);
    }
}

/// Checks the settings of an agent in this folder, unless they were checked before.
pub(in crate::commands::doctor) fn path_in(checkup: &mut Checkup, folder: &Path, config_dir: Option<&Path>) {
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
