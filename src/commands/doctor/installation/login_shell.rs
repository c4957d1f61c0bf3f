//! Whether a login shell finds askbox's programs. Some agents run each command in a login shell, and the system's profile may replace the
//! PATH of the run. Debian's profile does.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::asked::Asked;
use askbox_config::Runner;
use askbox_run::process::{launch, programs};

/// How long the shell's profile may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Checks the shell of this runner's agent.
pub(super) fn look(checkup: &mut Checkup, name: &str, runner: &Runner) {
    let shell = runner.env.get("SHELL").map(OsString::from).or_else(|| std::env::var_os("SHELL")).unwrap_or_else(|| "/bin/bash".into());
    let Some(folder) = programs::relaunch().ok().and_then(|relaunch| relaunch.parent().map(Path::to_path_buf)) else { return };
    if !lacks_ask_post(&shell, runner) {
        return;
    }
    let (shell, folder) = (Path::new(&shell).display(), folder.display());
    let said =
        format!("its login shell {shell} does not find `ask-post`, so the agent cannot ask: the profile sets a PATH without {folder}");
    let mend = format!(
        "sudo ln -s {folder}/ask-post {folder}/checkpoint {folder}/relaunch /usr/local/bin/ # or add the folder to PATH in ~/.profile"
    );
    checkup.report("hidden_programs", format!("runner.{name}"), said, mend);
}

/// True if the shell has surely not found the program. A shell that cannot be started, or takes too long, counts as one that finds it.
fn lacks_ask_post(shell: &OsString, runner: &Runner) -> bool {
    let mut call = Command::new(shell);
    call.args(["-lc", "command -v ask-post"]);
    if let Some(path) = launch::path_with_our_programs() {
        call.env("PATH", path);
    }
    let code = Asked::start(call.envs(&runner.env)).ok().and_then(|mut shell| shell.code(PATIENCE));
    code.is_some_and(|code| code != 0)
}
