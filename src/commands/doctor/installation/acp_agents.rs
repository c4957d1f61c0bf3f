//! The agents that speak ACP: whether each starts and answers `initialize`, and what an operator has to know about it.
//!
//! Whether a login shell finds askbox's programs. Some agents run each command in a login shell, and the system's profile may replace the
//! PATH of the run. Debian's profile does.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::asked::Asked;
use askbox_config::{Runner, RunnerKind};
use askbox_run::{launch, programs};

/// How long an agent may take to answer. The slowest real one takes seven seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the agent of each runner of the kind `acp` and asks it what it can do. No model is asked anything. An agent that does not answer is
/// a problem.
pub(in crate::commands::doctor) fn ask(checkup: &mut Checkup) {
    let runners = checkup.config.runner.in_use().unwrap_or_default();
    let speak_acp = runners.into_iter().filter(|(_, runner)| runner.kind == RunnerKind::Acp);
    let agents: Vec<(Value, String)> = speak_acp.filter_map(|(name, runner)| agent(checkup, &name, &runner)).collect();
    let (facts, words): (Vec<Value>, Vec<String>) = agents.into_iter().unzip();
    if !facts.is_empty() {
        checkup.facts.add("acp_agents", &facts, words.concat());
    }
}

/// The agent for programs and in words. `None` if it does not answer.
fn agent(checkup: &mut Checkup, runner_name: &str, runner: &Runner) -> Option<(Value, String)> {
    // A missing program is reported as that of any runner.
    programs::of_runner(runner).ok()?;
    let About { name, version, continues_by } = match about(runner_name) {
        Ok(about) => about,
        Err(problem) => {
            let command = [std::slice::from_ref(&runner.program), &runner.args].concat().join(" ");
            checkup.report("acp_agent", format!("runner.{runner_name}"), problem, format!("{command} # see what it says"));
            return None;
        }
    };
    let preset = runner.agent(runner_name);
    if preset.is_some_and(|preset| preset.has_login_shell) {
        look_at_login_shell(checkup, runner_name, runner);
    }
    let how = match continues_by.as_str() {
        "none" => "cannot continue a session, so each round begins a new one".to_owned(),
        method => format!("continues a session by session/{method}"),
    };
    let mut words = format!("The agent of runner.{runner_name} is {name} {version}. It {how}.\n");
    let mut fact = json!({ "runner": runner_name, "name": name, "version": version, "continues_by": continues_by });
    // These are remarks for the operator.
    if let Some(warnings) = preset.map(|preset| preset.warnings).filter(|warnings| !warnings.is_empty()) {
        words.extend(warnings.iter().map(|warning| format!("  Note: {warning}.\n")));
        fact["warnings"] = json!(warnings);
    }
    Some((fact, words))
}

/// What the agent says that it can do, or what is wrong with it.
fn about(runner_name: &str) -> Result<About, String> {
    let adapter = programs::adapter().map_err(|e| e.to_string())?;
    let mut call = Command::new(adapter);
    if let Some(file) = askbox_config::location().filter(|file| file.exists()) {
        call.arg("--config").arg(file);
    }
    let mut asked = Asked::start(call.args(["about", runner_name])).map_err(|e| format!("its agent cannot be started: {e}"))?;
    let said = asked.hear(PATIENCE, |_, output| serde_json::Deserializer::from_reader(output).into_iter().next()?.ok());
    match said {
        Ok(Said::Found(about)) => Ok(about),
        Ok(Said::Problem { problem }) => Err(problem + &asked.last_words()),
        Err(RecvTimeoutError::Timeout) => {
            let (seconds, last_words) = (PATIENCE.as_secs(), asked.last_words());
            Err(format!("its agent does not answer `initialize` of ACP within {seconds} seconds{last_words}"))
        }
        Err(RecvTimeoutError::Disconnected) => Err(format!("its agent cannot be asked{}", asked.last_words())),
    }
}

/// What `askbox-acp about` prints.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Problem { problem: String },
    Found(About),
}

/// An agent's words about itself.
#[derive(Deserialize)]
struct About {
    name: String,
    version: String,
    continues_by: String,
}

/// How long the shell's profile may take.
const SHELL_PATIENCE: Duration = Duration::from_secs(10);

/// Checks the shell of this runner's agent.
fn look_at_login_shell(checkup: &mut Checkup, name: &str, runner: &Runner) {
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
    let code = Asked::start(call.envs(&runner.env)).ok().and_then(|mut shell| shell.code(SHELL_PATIENCE));
    code.is_some_and(|code| code != 0)
}
