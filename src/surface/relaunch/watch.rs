//! `relaunch watch`: the service around [`crate::watch`]: signals, readiness, words.

use std::path::Path;
use std::sync::mpsc::Sender;

use sd_notify::NotifyState;

use crate::config;
use crate::error::{Error, Result};
use crate::log;
use crate::surface::program;
use crate::time;
use crate::watch::{self, Input, Left, Options, Watch};

/// Watches until SIGTERM, SIGINT or SIGHUP.
pub fn watch(root: &Path, poll: Option<&str>) -> Result<u8> {
    let poll = poll.map(|p| time::parse_duration(p, "poll")).transpose().map_err(|e| program::of_flag("--poll", e))?;
    if poll.is_some_and(|p| p.is_zero()) {
        return Err(Error::usage("--poll is zero", "give it a pause such as 5s"));
    }
    let options = Options { poll };
    let config = config::load()?.config;
    let (sender, inputs) = watch::channel();
    stop_on_signal(sender.clone())?;
    log::to_stderr(config.log.format);
    // It does its job also where no mailbox exists yet: waiting for the first one.
    let mut told_ready = !root.exists();
    if told_ready {
        notify(&[NotifyState::Ready, NotifyState::Status("waiting for the mailbox")]);
    }
    while let Ok(mailbox) = watch::wait_for_mailbox(root, &options, &inputs, &sender)? {
        let watch = match Watch::new(mailbox, config.clone(), &options, &inputs, sender.clone()) {
            // Gone again before it was looked at.
            Err(_) if !root.exists() => continue,
            other => other?,
        };
        let ready = || {
            if !std::mem::replace(&mut told_ready, true) {
                notify(&[NotifyState::Ready]);
            }
        };
        match watch.run(ready)? {
            Left::Stopped => break,
            Left::MailboxGone => {
                tracing::warn!("the mailbox is gone; waiting for it to come back");
                notify(&[NotifyState::Status("the mailbox is gone; waiting for it")]);
            }
        }
    }
    tracing::info!("stopped; runs go on");
    Ok(0)
}

/// Tells the service manager, where there is one.
fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

fn stop_on_signal(sender: Sender<Input>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Error::failed(format!("cannot listen for signals: {e}"), "is the process limit reached?"))?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            notify(&[NotifyState::Stopping, NotifyState::Status("stopping; runs go on")]);
            let _ = sender.send(Input::Stop);
        }
    });
    Ok(())
}
