//! One run of the operator's program `notify.command`.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::config::Notify;
use crate::error::{IoContext, Result};
use crate::run::process::handle::ProcessHandle;
use crate::thread::Waiting;
use crate::time;

/// How often a program is looked at that cannot be waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the program is given.
#[derive(Debug)]
pub(super) struct Notification {
    pub(super) event: &'static str,
    pub(super) workflow: String,
    pub(super) question: String,
    /// What it can read on standard input.
    pub(super) document: Vec<u8>,
}

/// Starts the program, in a process group of its own. Calls `ended` when it has ended; at `notify.time_limit` it is killed with its
/// group.
pub(super) fn start(config: &Notify, notification: Notification, ended: impl FnOnce() + Send + 'static) -> Result<()> {
    let Some((program, args)) = config.command.split_first() else { return Ok(()) };
    let thread = Waiting::start()?;
    let mut child = Command::new(program)
        .args(args)
        .arg(notification.event)
        .env("ASKBOX_EVENT", notification.event)
        .env("ASKBOX_WORKFLOW_ID", notification.workflow)
        .env("ASKBOX_QUESTION", notification.question)
        .stdin(in_memory(&notification.document).io("hold the question for", program)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .io("run notify.command", program)?;
    let (limit, program) = (config.time_limit.0, program.clone());
    thread.run(move || {
        if !has_ended_within(&mut child, limit) {
            tracing::warn!("notify.command: {program} was killed after notify.time_limit = {}", time::human(limit));
            // The process is not reaped yet, so the group is still its own.
            let _ = Pid::from_raw(child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
        }
        let _ = child.wait();
        ended();
    });
    Ok(())
}

/// Makes a file in memory. With a pipe, the watcher would wait for a program that never reads it.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("question", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn has_ended_within(child: &mut Child, limit: Duration) -> bool {
    if let Some(process) = ProcessHandle::open(child.id()) {
        return process.wait_gone(limit);
    }
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return true;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    false
}
