//! Connects to Codex's daemon, and connects again when the daemon comes back.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::codex::bridge::Bridge;
use crate::codex::client::Client;
use askbox_config::Config;
use askbox_mailbox::programs::CODEX;
use askbox_mailbox::{Lock, Mailbox, Result, thread};
use askbox_run::{Desk, log};
use askbox_sessions::codex;

/// How often to look whether a daemon listens.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(10);
/// The name of the lock of the only process that serves a mailbox in this way.
const LOCK: &str = "codex";

/// Serves the sessions of Codex's daemon until the watcher closes the standard input.
///
/// # Errors
/// If the system has no thread to spare.
pub(super) fn serve_until_told(mailbox: &Mailbox, config: &Config) -> Result<()> {
    let Some(folder) = codex::folder() else { return Ok(()) };
    let (stop, stopped) = mpsc::channel();
    thread::start(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(stop);
    })?;
    run(Desk { mailbox, config, facts: &CODEX }, &codex::socket_in(&folder), &stopped);
    Ok(())
}

fn run(desk: Desk<'_>, socket: &Path, stop: &Receiver<()>) {
    let Some(_only) = only(desk.mailbox, stop) else { return };
    let mut last_error = String::new();
    loop {
        let pause = match serve(desk, socket, stop) {
            Ok(()) => LOOK_EVERY,
            Err(e) => {
                let said = e.to_string();
                if said != last_error {
                    log::error(&e);
                }
                last_error = said;
                PAUSE
            }
        };
        if is_over(stop, pause) {
            return;
        }
    }
}

/// Waits until no other process serves this mailbox. `None` if this one is to end.
fn only(mailbox: &Mailbox, stop: &Receiver<()>) -> Option<Lock> {
    loop {
        match Lock::try_acquire(&mailbox.lock_file(LOCK)) {
            Ok(Some(lock)) => return Some(lock),
            Ok(None) => {}
            Err(e) => log::error(&e),
        }
        if is_over(stop, LOOK_EVERY) {
            return None;
        }
    }
}

fn is_over(stop: &Receiver<()>, wait: Duration) -> bool {
    stop.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
}

/// Serves one connection. Returns at once if no daemon listens.
fn serve(desk: Desk<'_>, socket: &Path, stop: &Receiver<()>) -> Result<()> {
    let Some(client) = Client::connect(socket)? else { return Ok(()) };
    let bridge = Bridge::begin(desk, client)?;
    tracing::info!(event = "codex", "serves the sessions of codex's daemon");
    if let Err(e) = bridge.serve(stop) {
        tracing::info!(event = "codex", "{e}");
    }
    Ok(())
}
