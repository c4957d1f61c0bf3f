//! Turns a claimed attempt into an adapter of askbox that talks with an agent in the agent's own protocol: `askbox-acp`.
//!
//! The adapter reads the records of the attempt, opens the session and makes the first message by itself. It may start the agent before it
//! reads anything. So the attempt's record is durable before it starts.

use crate::process::launch::{self, SessionStart};
use crate::process::{permitted, programs};
use crate::supervise::started_agent::{self, Launch, RunningAgent, Started};
use askbox_agent::adapter::AdapterOutput;
use askbox_agent::output::AgentOutput;
use askbox_config::{Runner, RunnerKind};
use askbox_mailbox::Result;

/// Launches the adapter of an attempt.
pub(super) fn start(launch: Launch<'_, '_>, runner: &Runner) -> Result<Started> {
    let Launch { mailbox, config, attempt, log, sources, channel } = launch;
    let fix = "choose it in the agent's own settings, and start without that choice";
    attempt.refuse_choices("speaks ACP, which has no way to choose one", fix)?;
    programs::of_runner(runner)?;
    let adapter = programs::adapter()?;
    let folder = permitted::of_launch(config, &attempt.run)?;
    let (_, handed) = attempt.begin_durably(mailbox, config)?;
    let run = &attempt.run;
    let call = launch::adapter_call(mailbox, run, runner, &handed, &adapter);
    let spawned = started_agent::spawn((mailbox, config, run), &call, &folder, SessionStart::New, RunnerKind::Acp)?;
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    let output = AgentOutput::Adapter(AdapterOutput::default());
    let agent = RunningAgent::connect(mailbox, run, spawned, output, sources, channel, log);
    let max_turns = Some(config.limits.turns).filter(|turns| *turns > 0);
    Ok(Started { agent, held_message: None, max_turns })
}
