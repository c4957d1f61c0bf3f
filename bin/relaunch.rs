//! Relaunch agents whose questions were answered, each once.

#![deny(clippy::disallowed_methods)]

use std::process::ExitCode;

use askbox::error::{Error, Result};
use askbox::id::WorkflowId;
use askbox::mailbox::Mailbox;
use askbox::run::claim::recovery;
use askbox::run::process::launch;
use askbox::surface::args::relaunch::{Args, Command};
use askbox::surface::program::{self, Common};
use askbox::surface::relaunch::chain::{self, Spawn};
use askbox::surface::relaunch::{deliver, follow, monitor, service, table, view};

fn main() -> ExitCode {
    // The process that becomes the agent: the words behind `SHIM` are the agent's command line, not arguments of this program.
    if std::env::args_os().nth(1).is_some_and(|first| first == launch::SHIM) {
        return launch::become_agent(std::env::args_os().skip(2)).into();
    }
    // The path is looked up at the start: once the program is upgraded while it runs, the kernel reports the path as `(deleted)`.
    if let Ok(own) = std::env::current_exe() {
        launch::relaunch_is(own);
    }
    program::main(std::env::args_os(), run)
}

fn run(args: Args) -> Result<u8> {
    // What runs for days stands apart from what a user calls now and then: the less it touches, the less memory it takes.
    match (args.id, args.command) {
        (None, Some(Command::Watch { poll })) => watch(&args.common, poll.as_deref()),
        (None, Some(Command::Supervise { id, question, attempt, detach: false, from })) => {
            deliver::supervise(&args.common.open()?, program::workflow(&id)?, question.parse()?, attempt, from)
        }
        (id, command) => now_and_then(&args.common, id, command),
    }
}

fn watch(common: &Common, poll: Option<&str>) -> Result<u8> {
    service::watch(&Mailbox::locate(common.mailbox.as_deref())?, poll)
}

fn now_and_then(common: &Common, id: Option<String>, command: Option<Command>) -> Result<u8> {
    let json = common.json;
    let mailbox = || common.open();
    match (id, command) {
        (Some(id), _) => deliver::run_now(&mailbox()?, &program::workflow(&id)?, json),
        (None, None) => {
            Err(Error::usage("nothing to do", "relaunch ID runs one answered workflow, relaunch watch is the service; more with --help"))
        }
        (None, Some(command)) => match command {
            Command::Status { summary: true, .. } => monitor::show(&mailbox()?, json),
            Command::Status { id, follow, .. } => {
                let id = id.as_deref().map(program::workflow).transpose()?;
                let show = if follow { view::follow } else { table::show };
                show(&mailbox()?, id.as_ref(), json)
            }
            Command::Logs { id, follow } => follow::follow(&mailbox()?, &program::workflow(&id)?, follow, 0, json),
            Command::Events { id, follow, since } => follow::follow(&mailbox()?, &program::workflow(&id)?, follow, since, true),
            Command::Run { file, workflow, stream } => {
                let workflow = workflow.as_deref().map(program::workflow).transpose()?;
                deliver::run_task(&common.open_or_create()?, &file, workflow, json || stream)
            }
            Command::Spawn { file, prompt, agent, model, timeout, background, any, workflow } => {
                let workflow = workflow.as_deref().map(program::workflow).transpose()?;
                let spawn = Spawn { file, prompt, agent, model, timeout, background, join_any: any, workflow };
                chain::spawn(&common.open_or_create()?, spawn, json)
            }
            Command::Resume { id, timeout } => chain::resume(&mailbox()?, &program::workflow(&id)?, timeout.as_deref(), json),
            Command::Stop { id, grace, report, now, tree } => {
                let mailbox = mailbox()?;
                let stop = |id: &WorkflowId| deliver::stop(&mailbox, id, grace.as_deref(), report, now, json);
                let id = program::workflow(&id)?;
                if tree { chain::stop_tree(&mailbox, &id, stop) } else { stop(&id) }
            }
            Command::Retry { id } => deliver::retry(&mailbox()?, &program::workflow(&id)?, json),
            Command::Prompt { id } => deliver::print_prompt(&mailbox()?, &program::workflow(&id)?, json),
            Command::Drop { id, why } => {
                let round = recovery::drop_parked(&mailbox()?, &program::workflow(&id)?, &program::user(), why)?;
                program::print(&format!("dropped {round}\n"))?;
                Ok(0)
            }
            Command::Supervise { id, question, attempt, .. } => {
                deliver::detach(&mailbox()?, program::workflow(&id)?, question.parse()?, attempt)
            }
            Command::Watch { poll } => watch(common, poll.as_deref()),
        },
    }
}
