//! `relaunch watch`: runs the watcher as a service, with Unix signals and readiness notification.
//!
//! `relaunch exec ID -- PROGRAM…`: claims the answer of a workflow, and runs a program with it here, by the contract of `kind = "program"`.

use std::cell::Cell;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use sd_notify::NotifyState;

use crate::connection;
use crate::messages::{Left, Options, WatchMessage};
use crate::relaunch::{foreground, refusals};
use crate::scope::Scope;
use crate::watcher::Watcher;
use askbox_cli::Context;
use askbox_config::{Config, Runners};
use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, pause, processes, thread, time};
use askbox_run::on_demand::{self, RunNow};
use askbox_run::{log, programs, run_processes};

/// Watches until SIGTERM, SIGINT or SIGHUP. If SIGHUP was ignored at the start, as `nohup` does, it stays ignored. `json` makes the log
/// JSON.
pub fn watch(root: &Path, context: &Context, poll: Option<Duration>, json: bool) -> Result<u8> {
    if poll.is_some_and(|p| p.is_zero()) {
        return Err(Error::usage("--poll is zero", "give it a pause such as 5s"));
    }
    let options = Options { poll, scope: Scope::Mailbox };
    run_processes::check_visible()?;
    let config = context.config()?;
    let (sender, messages) = mpsc::channel();
    stop_on_signal(sender.clone())?;
    log::to_stderr(json);
    if let Some(zone) = time::unknown_zone().filter(|_| config.notify.quiet.are_set()) {
        tracing::warn!(zone, "this system does not know the time zone in $TZ, so notify.quiet is in UTC; set TZ=Europe/Berlin or unset it");
    }
    let said_ready = Cell::new(false);
    // A service that waits for its mailbox counts as ready: the first post may create the mailbox.
    let waiting = || {
        said_ready.set(true);
        notify(&[NotifyState::Ready, NotifyState::Status("waiting for the mailbox")]);
    };
    while let Some(mailbox) = connection::wait_for_mailbox(root, &options, &messages, &sender, waiting)? {
        let watcher = match Watcher::new(mailbox, config.clone(), &options, &messages, sender.clone()) {
            // The mailbox has vanished again.
            Err(_) if !root.exists() => continue,
            other => other?,
        };
        let ready = || {
            if !said_ready.replace(true) {
                notify(&[NotifyState::Ready]);
            }
        };
        match watcher.run(ready)? {
            Left::Stopped => break,
            Left::NotTrusted => {
                tracing::warn!("the mailbox is not used any more: others may write to it now");
                notify(&[NotifyState::Status("others may write to the mailbox; waiting until it is private")]);
            }
            // Only a watcher of one tree returns `Left::ToService`.
            Left::MailboxGone | Left::ToService => {
                tracing::warn!("the mailbox is gone; waiting for it to come back");
                notify(&[NotifyState::Status("the mailbox is gone; waiting for it")]);
            }
        }
    }
    tracing::info!("stopped; runs go on");
    Ok(0)
}

/// Notifies the service manager, if there is one.
fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

fn stop_on_signal(sender: Sender<WatchMessage>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let signals = [SIGTERM, SIGINT].into_iter().chain((!processes::ignores_hangup()).then_some(SIGHUP));
    let mut signals = signal_hook::iterator::Signals::new(signals)
        .map_err(|e| Error::failed(format!("cannot listen for Unix signals: {e}"), "is the process limit reached?"))?;
    thread::start(move || {
        for _ in signals.forever() {
            notify(&[NotifyState::Stopping, NotifyState::Status("stopping; runs go on")]);
            let _ = sender.send(WatchMessage::Stop);
        }
    })
    .map(drop)
}

/// Claims the round of a workflow and runs the program with it. `program` is the program and its arguments.
pub fn exec(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, program: &[String], json: bool) -> Result<u8> {
    pause::check(mailbox)?;
    let Some((program, args)) = program.split_first() else {
        return Err(Error::usage("no program is given", format!("relaunch exec {workflow} -- PROGRAM")));
    };
    // The program starts in the folder of the question. So its path must not depend on the folder of this command. A program that cannot
    // be started must not take the answer.
    let file = programs::find(Path::new(program))?;
    let file = std::path::absolute(&file).unwrap_or(file);
    let file = file.to_str().ok_or_else(|| Error::usage("the path of the program is not UTF-8", "name another program"))?;
    let runner = Runners::only(file.to_owned(), args.to_vec());
    let config = Config { runner, ..context.config()? };
    match on_demand::exec_now(mailbox, &config, workflow)? {
        RunNow::Supervise(attempt) => foreground::exit_status_of_run(foreground::supervise(mailbox, &config, attempt, json)?),
        RunNow::Delivered => Ok(0),
        RunNow::Refused(refused) => Err(refusals::error_of(mailbox, context, workflow, refused)),
    }
}
