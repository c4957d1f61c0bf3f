//! What keeps `claude` from starting at all, as far as files and the configuration tell it. A run would say so only once an answer is
//! there. (Measured with Claude Code 2.1.332. A login that is missing shows only at the API.)

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::commands::doctor::checkup::{Checkup, edit, is_claude, of_run};
use crate::commands::doctor::installation::claude_files::MANAGED;
use askbox_agent::claude::CONFIG_DIR;
use askbox_config::Runner;
use askbox_mailbox::without_bom;
use askbox_run::story::cause::edit_configuration;

const KIND: &str = "agent_cannot_start";

/// The arguments that `disableSideloadFlags` forbids. (`--mcp-config` is refused if it names a server.)
const SIDELOADS: [&str; 4] = ["--plugin-dir", "--plugin-url", "--agents", "--mcp-config"];

/// Checks the runner of Claude Code.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
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
        let (said, mend) = match read(&path) {
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
fn read(path: &Path) -> Result<Value, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    serde_json::from_slice(without_bom(&bytes)).map_err(|e| format!("it is not JSON: {e}"))
}
