//! Turns a claimed attempt into a program that has its round on standard input, or into an adapter of askbox that talks with an agent in
//! the agent's own protocol: `askbox-acp`.
//!
//! A program may act before it reads anything, and an adapter may start the agent. So the attempt's record is durable before the program
//! starts, and not only before it has its input, as for an agent.

use crate::attempt::once;
use crate::process::launch::{self, SessionStart};
use crate::process::{permitted, programs};
use crate::prompt::round_input;
use crate::supervise::started_agent::{self, Launch, RunningAgent, Started};
use askbox_agent::events::EventKind;
use askbox_agent::output::{AdapterOutput, AgentOutput};
use askbox_agent::program::ProgramOutput;
use askbox_config::{Runner, RunnerKind};
use askbox_mailbox::{Result, disk, text};

/// Launches the program of an attempt and gives it its round.
pub(super) fn program(launch: Launch<'_, '_>, runner: &Runner) -> Result<Started> {
    let Launch { mailbox, config, attempt, log, sources, channel } = launch;
    attempt.refuse_choices("is a program, which has none", "start it without that choice, or under an id that another runner runs")?;
    let folder = permitted::of_launch(config, &attempt.run)?;
    let (document, handed) = attempt.begin_durably(mailbox, config)?;
    let run = &attempt.run;
    let input = round_input::of(mailbox, &document, run)?;
    let file = run.folder(mailbox).join(round_input::FILE);
    disk::touch_folder(&run.folder(mailbox))?;
    disk::replace_ahead(&file, input.as_bytes())?;
    let call = launch::program_call(mailbox, run, runner, &handed, &file);
    let spawned = started_agent::spawn((mailbox, config, run), &call, &folder, SessionStart::New, RunnerKind::Program)?;
    run.begin_why.iter().for_each(|why| log.note(why.clone()));
    once::in_words(mailbox, &run.round()).into_iter().for_each(|words| log.note(words));
    log.event(EventKind::Started {
        session_id: run.session_id.to_string().into(),
        model: "".into(),
        version: "".into(),
        permission_mode: "".into(),
        cwd: folder.path().display().to_string().into(),
        resumed: None,
        program: call.program.file_name().map(|name| text::file_name(name).into()),
    });
    let mut agent = RunningAgent::connect(mailbox, run, spawned, AgentOutput::Program(ProgramOutput::default()), sources, channel, log);
    agent.say(&input);
    agent.close_input();
    Ok(Started { agent, held_message: None, max_turns: None })
}

/// Launches the adapter of an attempt. It reads the records of the attempt, opens the session and makes the first message by itself.
pub(super) fn adapter(launch: Launch<'_, '_>, runner: &Runner) -> Result<Started> {
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
