//! What keeps `claude` from starting at all, as far as files and the configuration tell it. A run would say so only once an answer is
//! there. (Measured with Claude Code 2.1.332. A login that is missing shows only at the API.)

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::commands::doctor::checkup::{Checkup, edit};
use askbox_config::Runner;
use askbox_run::story::cause::edit_configuration;

const KIND: &str = "agent_cannot_start";

/// The settings of the machine's administrator, on Linux and on macOS.
const MANAGED: [&str; 2] = ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];

/// The arguments that `disableSideloadFlags` forbids. (`--mcp-config` is refused if it names a server.)
const SIDELOADS: [&str; 4] = ["--plugin-dir", "--plugin-url", "--agents", "--mcp-config"];

/// Checks the runner of Claude Code.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let Some((name, runner)) = checkup.config.runner.of_claude() else { return };
    let is_of_another = |id| checkup.config.runner_of(id).is_ok_and(|(other, _)| other != name);
    if checkup.only.as_ref().is_some_and(is_of_another) {
        return;
    }
    if Path::new(&runner.program).file_name().is_none_or(|program| program != "claude") {
        return;
    }
    if let Some(key) = bypasses_as_root(&runner) {
        let mend = format!("{} (or run askbox as another user)", edit_configuration());
        checkup.report(KIND, format!("runner.{name}.{key}"), "claude refuses to start with it as root".to_owned(), mend);
    }
    if let Some(path) = user_file(&runner).filter(|path| path.exists())
        && let Err(why) = read(&path)
    {
        checkup.report(KIND, path.display().to_string(), format!("claude refuses to start with it: {why}"), edit(&path));
    }
    for path in MANAGED.map(Path::new).into_iter().filter(|path| path.exists()) {
        let shown = path.display().to_string();
        match read(path) {
            Err(why) => checkup.report(KIND, shown, format!("claude refuses to start with it: {why}"), edit(path)),
            Ok(settings) if !settings.is_object() => {
                checkup.report(KIND, shown, "claude refuses to start with it: it is not a JSON object".to_owned(), edit(path));
            }
            Ok(settings) if settings.get("disableSideloadFlags") == Some(&Value::Bool(true)) => {
                let is_forbidden = |arg: &&String| SIDELOADS.iter().any(|flag| arg.split('=').next() == Some(flag));
                if let Some(arg) = runner.args.iter().find(is_forbidden) {
                    let said = format!("disableSideloadFlags forbids `{arg}`, which runner.{name}.args has, so claude refuses to start");
                    checkup.report(KIND, shown, said, edit_configuration());
                }
            }
            Ok(_) => {}
        }
    }
}

/// The key of the runner that bypasses every permission, if this process is root's and no sandbox is declared.
fn bypasses_as_root(runner: &Runner) -> Option<&'static str> {
    let is_sandbox = runner.env.contains_key("IS_SANDBOX") || std::env::var_os("IS_SANDBOX").is_some();
    if !rustix::process::geteuid().is_root() || is_sandbox {
        return None;
    }
    match () {
        () if runner.dangerously_skip_permissions => Some("dangerously_skip_permissions"),
        () if runner.permission_mode == "bypassPermissions" => Some("permission_mode"),
        () => None,
    }
}

/// The file in which claude keeps what it knows about its user and the projects.
fn user_file(runner: &Runner) -> Option<PathBuf> {
    let set = |name: &str| {
        let own = runner.env.get(name).map(std::ffi::OsString::from);
        own.or_else(|| std::env::var_os(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    set("CLAUDE_CONFIG_DIR").or_else(|| set("HOME")).map(|folder| folder.join(".claude.json"))
}

/// Reads a JSON file. Its content is never shown.
fn read(path: &Path) -> Result<Value, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).map_err(|e| format!("it is not JSON: {e}"))
}
