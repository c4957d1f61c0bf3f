//! The agents that speak ACP: whether each starts and answers `initialize`, and what an operator has to know about it.

use std::io::Write;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::{Value, json};

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::asked::Asked;
use crate::commands::doctor::installation::login_shell;
use askbox_agent::acp::{AgentInfo, Client, Reply, SessionPlace};
use askbox_agent::stream::StreamItem;
use askbox_agent::stream::lines::BoundedLines;
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
    let info = match initialize(runner) {
        Ok(info) => info,
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
    let (name, version) = (info.name.excerpt(80), info.version.excerpt(80));
    let (continues_by, how) = match (info.can_resume, info.can_load) {
        (true, _) => ("resume", "continues a session by session/resume"),
        (false, true) => ("load", "continues a session by session/load"),
        (false, false) => ("none", "cannot continue a session, so each round begins a new one"),
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
fn initialize(runner: &Runner) -> Result<AgentInfo, String> {
    let program = programs::find(Path::new(&runner.program)).map_err(|e| e.to_string())?;
    let mut call = Command::new(program);
    let mut asked = Asked::start(call.args(&runner.args).envs(&runner.env)).map_err(|e| format!("its agent cannot be started: {e}"))?;
    match asked.hear(PATIENCE, ask_process) {
        Ok(info) if info.is_understood() => Ok(info),
        Ok(info) => Err(format!("its agent speaks version {} of ACP, and askbox speaks version 1", info.protocol)),
        Err(RecvTimeoutError::Timeout) => {
            let (seconds, last_words) = (PATIENCE.as_secs(), asked.last_words());
            Err(format!("its agent does not answer `initialize` of ACP within {seconds} seconds{last_words}"))
        }
        Err(RecvTimeoutError::Disconnected) => {
            Err(format!("its agent ended without an answer to `initialize` of ACP{}", asked.last_words()))
        }
    }
}

fn ask_process(mut input: ChildStdin, output: ChildStdout) -> Option<AgentInfo> {
    let mut client = Client::new("", SessionPlace::default(), None);
    // An agent that has ended already does not read it. Its standard error says why.
    let _ = input.write_all(client.initialize().as_bytes());
    let mut lines = BoundedLines::new(output);
    while let Ok(Some(line)) = lines.next_line() {
        let info = client.feed(&line).into_iter().find_map(|item| match item {
            StreamItem::Acp(Reply::Initialized(info)) => Some(info),
            _ => None,
        });
        if info.is_some() {
            return info;
        }
    }
    None
}
