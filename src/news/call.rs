//! One attempt to tell a target: a program with its standard input, in a process group of its own, killed at the time limit.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{IoContext, Result};
use crate::platform::ProcessHandle;
use crate::text;
use crate::thread::Waiting;
use crate::time;

/// How often a program is looked at that cannot be waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How much of what a program says is read, in bytes.
const SAID: u64 = 2000;

/// What is run.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub env: Vec<(&'static str, String)>,
    /// What it can read on standard input.
    pub input: Vec<u8>,
    /// Whether its standard error is a line that says what went wrong. That of any other program is thrown away, since it has no bound.
    pub explains: bool,
}

/// Runs a program. `ended` is called with what went wrong, if anything did.
pub(super) fn start(call: Call, limit: Duration, ended: impl FnOnce(Result<(), String>) + Send + 'static) -> Result<()> {
    let shown = call.program.to_string_lossy().into_owned();
    let thread = Waiting::start()?;
    let errors = if call.explains { Some(in_memory(&[]).io("hold the errors of", &shown)?) } else { None };
    let mut child = Command::new(&call.program)
        .args(&call.args)
        .envs(call.env)
        // With a pipe, the caller would wait for a program that never reads it.
        .stdin(in_memory(&call.input).io("hold the input of", &shown)?)
        .stdout(Stdio::null())
        .stderr(match &errors {
            Some(file) => file.try_clone().io("hold the errors of", &shown)?.into(),
            None => Stdio::null(),
        })
        .process_group(0)
        .spawn()
        .io("run", &shown)?;
    thread.run(move || ended(wait(&mut child, limit, errors).map_err(|problem| format!("{shown} {problem}"))));
    Ok(())
}

fn wait(child: &mut Child, limit: Duration, errors: Option<File>) -> Result<(), String> {
    let was_killed = !has_ended_within(child, limit);
    if was_killed {
        // The process is not reaped yet, so the group is still its own.
        let _ = Pid::from_raw(child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
    }
    let status = child.wait().map_err(|e| format!("cannot be waited for: {e}"))?;
    if was_killed {
        return Err(format!("was killed after notify.time_limit = {}", time::human(limit)));
    }
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    if let Some(mut errors) = errors {
        let _ = errors.rewind().and_then(|()| errors.take(SAID).read_to_end(&mut said));
    }
    let said = text::excerpt(String::from_utf8_lossy(&said).trim(), 200);
    Err(if said.is_empty() { format!("failed: {status}") } else { format!("failed: {said}") })
}

/// A file without a name.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
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
