//! `relaunch watch`: runs the watcher as a service, with Unix signals and readiness notification.

use std::cell::Cell;
use std::path::Path;
use std::sync::mpsc::{self, Sender};

use sd_notify::NotifyState;

use crate::connection;
use crate::messages::{Left, Options, WatchMessage};
use crate::scope::Scope;
use crate::watcher::Watcher;
use askbox_cli::{Context, program};
use askbox_config::LogFormat;
use askbox_mailbox::platform::processes;
use askbox_mailbox::{Error, Result, thread, time};
use askbox_run::{log, run_processes};

/// Watches until SIGTERM, SIGINT or SIGHUP. If SIGHUP was ignored at the start, as `nohup` does, it stays ignored. `json` makes the log
/// JSON, whatever the configuration says.
pub fn watch(root: &Path, context: &Context, poll: Option<&str>, json: bool) -> Result<u8> {
    let poll = poll.map(|p| time::parse_duration(p, "poll")).transpose().map_err(|e| program::of_flag("--poll", e))?;
    if poll.is_some_and(|p| p.is_zero()) {
        return Err(Error::usage("--poll is zero", "give it a pause such as 5s"));
    }
    let options = Options { poll, scope: Scope::Mailbox };
    run_processes::check_visible()?;
    let config = context.config()?;
    let (sender, messages) = mpsc::channel();
    stop_on_signal(sender.clone())?;
    log::to_stderr(if json { LogFormat::Json } else { config.log.format });
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
