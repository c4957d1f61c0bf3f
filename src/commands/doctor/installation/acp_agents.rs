//! The agents that speak ACP: whether each starts and answers `initialize`, and what an operator has to know about it.

use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::asked::Asked;
use crate::commands::doctor::installation::login_shell;
use askbox_config::{Runner, RunnerKind};
use askbox_run::process::programs;

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
        login_shell::look(checkup, runner_name, runner);
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
