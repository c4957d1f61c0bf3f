//! Runs a shell command to its end, while messages and signals are attended to.
//!
//! If this process is killed, the kernel ends the shell. The programs below the shell go on: the next process finds them by the mark of
//! their call, and ends them before the model is told.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::history::Call;
use crate::host::{Happening, Host};
use askbox_agent::caller_env::is_of_the_caller;
use askbox_mailbox::platform::processes::Seen;
use askbox_mailbox::{IoContext, ProcessHandle, Result, processes, thread};
use askbox_run::process::launch::command_tied_to_this_thread;

/// How long a command may take to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// The most bytes of output that are read back.
const MOST: u64 = 8 << 20;

/// How a command ended, and what it printed.
pub(crate) struct Ran {
    /// The exit status; 128 and the signal's number if a signal ended it.
    pub status: i32,
    /// Standard output; of a call, standard error as well, in their order.
    pub stdout: String,
    pub stderr: String,
    /// The command took too long, or the person asked twice to stop.
    pub cut: Option<&'static str>,
}

/// The variable that marks the processes of a call: `SESSION/CALL`.
const CALL: &str = "ASK_AGENT_CALL";

/// The mark of a call.
pub(crate) fn mark(host: &Host, call: &Call) -> String {
    format!("{}/{}", host.session, call.id)
}

/// Ends what still runs of a call whose process was killed. Returns true if anything did.
pub(crate) fn end_left_over(mark: &str) -> bool {
    // Each environment is read behind the handle: a pid may have been reused before.
    let is_left = |pid: i32| Some(Seen::at(pid)?.environment()?.get(CALL)? == mark);
    let opened = |pid: i32| ProcessHandle::open(pid.unsigned_abs()).filter(|_| is_left(pid) == Some(true));
    let left = || processes::all().filter_map(|process| opened(process.pid())).collect::<Vec<_>>();
    let mut ended = false;
    for signal in [Signal::TERM, Signal::KILL, Signal::KILL, Signal::KILL] {
        let left = left();
        ended |= !left.is_empty();
        left.iter().for_each(|process| process.signal(signal));
        left.iter().all(|process| process.wait_gone(TERM_GRACE));
    }
    ended
}

/// Runs `sh -c` (`bash -c` if there is a bash) in the working folder. The output goes into files without a name: a background process that keeps them
/// open holds nobody up. `mark` is that of the call; empty for a hook, whose standard
/// error is kept apart.
pub(crate) fn shell(host: &mut Host, command: &str, input: &str, limit: Duration, mark: &str) -> Result<Ran> {
    let temporary = || tempfile::tempfile().io("create", "a temporary file");
    let (mut stdout, mut stderr, mut stdin) = (temporary()?, temporary()?, temporary()?);
    stdin.write_all(input.as_bytes()).and_then(|()| stdin.rewind()).io("write", "a temporary file")?;
    let copy = |file: &File| file.try_clone().io("open", "a temporary file");
    let errors = copy(if mark.is_empty() { &stderr } else { &stdout })?;
    let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
    let mut program = command_tied_to_this_thread(shell.as_ref());
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_of_the_caller(name)).for_each(|name| {
        program.env_remove(name);
    });
    let mut child = program
        .arg("-c")
        .arg(command)
        .current_dir(&host.cwd)
        .envs(host.tool_env())
        .env(CALL, mark)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(copy(&stdout)?))
        .stderr(Stdio::from(errors))
        .process_group(0)
        .spawn()
        .io("run", shell)?;
    let group = Pid::from_child(&child);
    let sender = host.sender.clone();
    let waiter = thread::start(move || {
        let status = child.wait().map_or(1, |status| status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
        let _ = sender.send(Happening::CommandEnded(status));
    });
    if let Err(e) = waiter {
        let _ = kill_process_group(group, Signal::KILL);
        return Err(e);
    }
    let (mut deadline, mut cut) = (Instant::now() + limit, None);
    let before = host.stops;
    let status = loop {
        match host.wait(Some(deadline)) {
            Some(Happening::CommandEnded(status)) => break status,
            // The first request to stop lets the command finish. The second one ends it.
            Some(_) if cut.is_none() && host.stops > before.max(1) => {
                (cut, deadline) = (Some("a second request to stop ended it"), Instant::now() + TERM_GRACE);
                let _ = kill_process_group(group, Signal::TERM);
            }
            Some(_) => {}
            None => {
                let signal = if cut.is_none() { Signal::TERM } else { Signal::KILL };
                (cut, deadline) = (cut.or(Some("it took longer than its limit")), Instant::now() + TERM_GRACE);
                let _ = kill_process_group(group, signal);
            }
        }
    };
    Ok(Ran { status, stdout: read_back(&mut stdout)?, stderr: read_back(&mut stderr)?, cut })
}

fn read_back(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.take(MOST).read_to_end(&mut bytes)).io("read", "a temporary file")?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}
