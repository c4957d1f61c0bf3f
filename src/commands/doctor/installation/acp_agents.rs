//! The agents that speak ACP: whether each starts and answers `initialize`, and what an operator has to know about it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::{last_words, login_shell};
use askbox_agent::acp::{AgentInfo, Client, Reply, SessionPlace};
use askbox_agent::stream::StreamItem;
use askbox_agent::stream::lines::BoundedLines;
use askbox_config::{Runner, RunnerKind};
use askbox_mailbox::thread;
use askbox_run::process::programs;

/// The kind of these findings.
const KIND: &str = "acp_agent";
/// How long an agent may take to answer. The slowest real one takes seven seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// An agent that speaks ACP.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct AcpAgent {
    /// The name of its runner.
    runner: String,
    /// Its name, as it says it.
    name: String,
    /// Its version.
    version: String,
    /// How a session is continued: `resume`, `load` or `none`.
    continues_by: &'static str,
    /// Remarks for the operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
}

impl AcpAgent {
    /// The agent in words, for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let Self { runner, name, version, continues_by, warnings } = self;
        let how = match *continues_by {
            "none" => "cannot continue a session, so each round begins a new one".to_owned(),
            how => format!("continues a session by session/{how}"),
        };
        let mut out = format!("The agent of runner.{runner} is {name} {version}. It {how}.\n");
        warnings.iter().for_each(|warning| out.push_str(&format!("  Note: {warning}.\n")));
        out
    }
}

/// Starts the agent of each runner of the kind `acp` and asks it what it can do. No model is asked anything. An agent that does not answer is
/// a problem.
pub(in crate::commands::doctor) fn ask(checkup: &mut Checkup) {
    let runners = checkup.config.runner.in_use().unwrap_or_default();
    let speak_acp = runners.into_iter().filter(|(_, runner)| runner.kind == RunnerKind::Acp);
    checkup.facts.acp_agents = speak_acp.filter_map(|(name, runner)| agent(checkup, name, &runner)).collect();
}

fn agent(checkup: &mut Checkup, name: String, runner: &Runner) -> Option<AcpAgent> {
    // A missing program is reported as that of any runner.
    programs::of_runner(runner).ok()?;
    let info = match initialize(runner) {
        Ok(info) => info,
        Err(problem) => {
            let command = [std::slice::from_ref(&runner.program), &runner.args].concat().join(" ");
            checkup.report(KIND, format!("runner.{name}"), problem, format!("{command} # see what it says"));
            return None;
        }
    };
    let preset = runner.agent(&name);
    if preset.is_some_and(|preset| preset.has_login_shell) {
        login_shell::look(checkup, &name, runner);
    }
    Some(AcpAgent {
        warnings: preset.map(|preset| preset.warnings.to_vec()).unwrap_or_default(),
        runner: name,
        name: info.name.excerpt(80),
        version: info.version.excerpt(80),
        continues_by: match (info.can_resume, info.can_load) {
            (true, _) => "resume",
            (false, true) => "load",
            (false, false) => "none",
        },
    })
}

/// What the agent says that it can do, or what is wrong with it. The agent and its helpers are ended.
fn initialize(runner: &Runner) -> Result<AgentInfo, String> {
    let program = programs::find(Path::new(&runner.program)).map_err(|e| e.to_string())?;
    let mut call = Command::new(program);
    call.args(&runner.args).envs(&runner.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = call.spawn().map_err(|e| format!("its agent cannot be started: {e}"))?;
    let complaint = last_words::read(child.stderr.take());
    let info = ask_process(&mut child);
    let _ = Pid::from_raw(child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
    let _ = child.wait();
    match info {
        Ok(info) if info.is_understood() => Ok(info),
        Ok(info) => Err(format!("its agent speaks version {} of ACP, and askbox speaks version 1", info.protocol)),
        Err(RecvTimeoutError::Timeout) => {
            Err(format!("its agent does not answer `initialize` of ACP within {} seconds{}", PATIENCE.as_secs(), complaint.words()))
        }
        Err(RecvTimeoutError::Disconnected) => {
            Err(format!("its agent ended without an answer to `initialize` of ACP{}", complaint.words()))
        }
    }
}

fn ask_process(child: &mut Child) -> Result<AgentInfo, RecvTimeoutError> {
    let (sender, receiver) = mpsc::channel();
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return Err(RecvTimeoutError::Disconnected) };
    let mut client = Client::new("", SessionPlace::default(), None);
    // An agent that has ended already does not read it. Its standard error says why.
    let _ = input.write_all(client.initialize().as_bytes());
    let _reader = thread::start(move || {
        let mut lines = BoundedLines::new(output);
        while let Ok(Some(line)) = lines.next_line() {
            for item in client.feed(&line) {
                if let StreamItem::Acp(Reply::Initialized(info)) = item {
                    let _ = sender.send(info);
                    return;
                }
            }
        }
    });
    receiver.recv_timeout(PATIENCE)
}
