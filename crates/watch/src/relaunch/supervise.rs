//! The hidden `relaunch supervise`: the process that a watcher or a spawn starts to own one run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::relaunch::foreground;
use askbox_cli::Context;
use askbox_mailbox::{Mailbox, Result, RoundId, disk, time};
use askbox_run::process::agent_exit;
use askbox_run::record;
use askbox_run::supervise::ownership::Attempt;
use askbox_run::supervise::{detach, supervisor};

/// How long a detached supervisor ignores SIGTERM, SIGINT and SIGHUP. A program that ends the process tree where the supervisor was started
/// may still send it one of them. A real request to stop the run comes as a file instead.
const IGNORE_SIGNALS_FOR: Duration = Duration::from_secs(2);

/// Supervises one attempt, in a session of its own so that closing a terminal does not end it. `detached_by` is the process that detached
/// this one and is about to end.
pub fn supervise(mailbox: &Mailbox, context: &Context, round: RoundId, attempt: u32, detached_by: Option<u32>) -> Result<u8> {
    let log = detach::log(mailbox, &round, attempt);
    // A supervisor has no terminal.
    let panics = log.clone();
    std::panic::set_hook(Box::new(move |panic| drop(disk::append(&panics, format!("{panic}\n").as_bytes()))));
    supervise_here(mailbox, context, Attempt::Recorded { round, attempt }, detached_by).inspect_err(|e| {
        let _ = disk::append(&log, format!("{} error: {e}\n", time::rfc3339(time::now())).as_bytes());
    })
}

fn supervise_here(mailbox: &Mailbox, context: &Context, attempt: Attempt, detached_by: Option<u32>) -> Result<u8> {
    // This fails only if the process already leads its group, as a shell's child may. It then needs no new session.
    let _ = rustix::process::setsid();
    let ignore_until = detached_by.map(wait_until_orphaned);
    let config = context.config()?;
    let grace = config.limits.grace.0;
    agent_exit::adopt_orphans();
    let stop_by = |stopper| foreground::catch_stop_signals(stopper, grace, ignore_until).into_iter().collect();
    supervisor::supervise(mailbox, &config, attempt, &mut |_| {}, stop_by)?;
    Ok(0)
}

/// Waits until `parent` has ended, which makes this process an orphan. Returns the end of the time during which Unix signals are ignored.
fn wait_until_orphaned(parent: u32) -> Instant {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::default());
    let is_child = || rustix::process::getppid().is_some_and(|p| u32::try_from(p.as_raw_nonzero().get()) == Ok(parent));
    let deadline = Instant::now() + IGNORE_SIGNALS_FOR;
    while is_child() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    Instant::now() + IGNORE_SIGNALS_FOR
}

/// `relaunch supervise --detach`: starts the supervisor and ends, which makes the supervisor an orphan.
pub fn detach(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Result<u8> {
    let _ = rustix::process::setsid();
    let run = record::read(mailbox, round, attempt)?;
    let mut command = detach::command(mailbox, &run)?;
    command.arg("--from").arg(std::process::id().to_string());
    command.spawn().map(|_| 0).map_err(detach::failed)
}
