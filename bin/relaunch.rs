//! Relaunch agents whose questions were answered, each once.

#![deny(clippy::disallowed_methods, clippy::disallowed_macros)]

use std::process::ExitCode;

use askbox_cli::args::relaunch_args::{Args, Command};
use askbox_cli::{Context, program};
use askbox_mailbox::{Error, Mailbox, Result, RoundId, WorkflowId};
use askbox_run::{launch, programs, recovery};
use askbox_watch::relaunch::logs::{self, As, FirstEvent};
use askbox_watch::relaunch::{approve, hold_queue, refusals, run_now, spawn_resume, status, stop_run, supervise, take_prompt, wait, watch};

fn main() -> ExitCode {
    // The process that becomes the agent: the words behind `SHIM` are the agent's command line, not arguments of this program.
    if std::env::args_os().nth(1).is_some_and(|first| first == launch::SHIM) {
        return launch::become_agent(std::env::args_os().skip(2)).into();
    }
    // The path is looked up at the start: once the program is upgraded while it runs, the kernel reports the path as `(deleted)`.
    if let Ok(own) = std::env::current_exe() {
        programs::relaunch_is(own);
    }
    program::main(run)
}

fn run(args: Args, context: &Context) -> Result<u8> {
    let (common, json) = (&args.common, args.common.json);
    let open = || common.open();
    let of_known = |workflow: &WorkflowId, work: &dyn Fn(&Mailbox, &WorkflowId) -> Result<u8>| {
        let mailbox = open()?;
        work(&mailbox, workflow).map_err(|e| refusals::unless_unknown(&mailbox, workflow, e))
    };
    let of_state = |workflow: &WorkflowId, work: &dyn Fn(&Mailbox, &WorkflowId) -> Result<u8>| {
        of_known(workflow, &|mailbox, workflow| work(mailbox, workflow).map_err(|e| refusals::in_another_state(mailbox, workflow, e)))
    };
    let command = match (args.id, args.command) {
        (Some(workflow), _) => {
            let run_now = || run_now::run_now(&open()?, context, &workflow, json);
            return run_now().map_err(|e| program::maybe_command::<Args>(workflow.as_str(), e));
        }
        (None, Some(command)) => command,
        (None, None) => {
            let hint = "relaunch ID runs one answered workflow, relaunch watch is the service; more with --help";
            return Err(Error::usage("no command is given", hint));
        }
    };
    match command {
        Command::Watch { poll } => watch::watch(&Mailbox::locate(common.mailbox.as_deref())?, context, poll, json),
        Command::Status { summary: true, .. } => status::show_summary(&open()?, context, json),
        Command::Status { id, follow: true, .. } => status::follow(&open()?, context, id.as_ref(), json),
        Command::Status { id: None, .. } => common.open_if_there()?.map_or(Ok(0), |mailbox| status::show(&mailbox, context, None, json)),
        Command::Status { id, .. } => status::show(&open()?, context, id.as_ref(), json),
        Command::Logs { id: workflow, follow, tail, since } => {
            let how = if json { As::Json } else { As::Words };
            let from = FirstEvent { seq: 0, at: since, last: tail };
            of_known(&workflow, &|mailbox, id| logs::print(mailbox, context, id, follow, from, how))
        }
        Command::Events { id: workflow, follow, since, partial } => {
            let how = if partial { As::JsonWithPartialText } else { As::Json };
            let from = FirstEvent { seq: since, ..FirstEvent::default() };
            of_known(&workflow, &|mailbox, id| logs::print(mailbox, context, id, follow, from, how))
        }
        Command::Run { file, prompt, workflow, stream } => {
            run_now::run_prompt(&common.open_or_create()?, context, file.as_deref(), prompt, workflow, json || stream)
        }
        Command::Spawn(spawn) => spawn_resume::spawn(&common.open_or_create()?, context, spawn, json),
        Command::Resume { id: workflow, timeout } => spawn_resume::resume(&open()?, context, &workflow, timeout, json),
        Command::Wait { id: workflow, timeout } => wait::wait(&open()?, context, &workflow, timeout, json),
        Command::Stop(flags) => {
            let stop = if flags.tree { stop_run::stop_tree } else { stop_run::stop };
            of_state(&flags.id, &|mailbox, id| stop(mailbox, context, id, &flags, json))
        }
        Command::Retry { id: None, .. } => run_now::retry_all(&open()?, context, json),
        Command::Retry { id: Some(workflow), cwd, .. } => {
            of_state(&workflow, &|mailbox, id| run_now::retry(mailbox, context, id, cwd.as_deref(), json))
        }
        Command::Prompt { id: workflow } => take_prompt::print_prompt(&open()?, context, &workflow, json),
        Command::Pause { why } => hold_queue::hold(&open()?, why, json),
        Command::Approve { revoke: Some(workflow), call, .. } => approve::revoke(&open()?, context, &workflow, call.as_deref(), json),
        Command::Approve { list: Some(Some(workflow)), .. } => approve::list(Some(&open()?), context, Some(&workflow), json),
        Command::Approve { .. } => approve::list(common.open_if_there()?.as_ref(), context, None, json),
        Command::Go => hold_queue::release(&open()?, context, json),
        Command::Exec { id: workflow, program } => watch::exec(&open()?, context, &workflow, &program, json),
        Command::Done { id: workflow } => take_prompt::done(&open()?, context, &workflow, json),
        Command::Drop { id: workflow, why } => of_state(&workflow, &|mailbox, id| {
            let round = recovery::drop_parked(mailbox, id, &program::user(), why.clone())?;
            program::print(&format!("dropped {round}\n")).map(|()| 0)
        }),
        Command::Supervise { id: workflow, question, attempt, detach, from } => {
            let (mailbox, round) = (open()?, RoundId { workflow, question });
            if detach {
                supervise::detach(&mailbox, &round, attempt)
            } else {
                supervise::supervise(&mailbox, context, round, attempt, from)
            }
        }
    }
}
