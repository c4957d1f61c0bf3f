//! A program that works beside the watcher, and speaks lines with it: `askbox-outgoing`, `askbox-live`, or a channel of the operator's.
//!
//! Each line is JSON. The end of its standard input tells the program to leave. Its standard error is the watcher's.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use crate::pauses::Pauses;
use askbox_agent::caller_env::is_of_the_caller;
use askbox_mailbox::{Error, IoContext, Mailbox, ProcessHandle, ReadyThread, Result, document};
use askbox_run::{log, programs};

/// The longest line that is heard, in bytes. (A message of ntfy has at most 4096.)
const LONGEST_LINE: u64 = 64 << 10;

/// A program that works. Dropping this tells it to leave.
#[derive(Debug)]
pub(crate) struct Beside {
    name: String,
    input: ChildStdin,
    /// The leader of its process group.
    process: Option<ProcessHandle>,
}

impl Beside {
    /// Starts a program. `hear` is called with each line, and the next one is read once it returns. `ended` is called with the reason once
    /// the program has ended, or has closed its standard output.
    pub(crate) fn start(
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        mut hear: impl FnMut(&[u8]) + Send + 'static,
        ended: impl FnOnce(String) + Send + 'static,
    ) -> Result<Self> {
        let name = program.as_ref().to_string_lossy().into_owned();
        let hint = "install it beside `relaunch` or on PATH: a release has every program of askbox";
        let program = programs::find(Path::new(&program)).map_err(|e| Error::failed(e.to_string(), hint))?;
        let thread = ReadyThread::start()?;
        let mut command = Command::new(program);
        command.args(args);
        std::env::vars_os().map(|(name, _)| name).filter(|name| is_of_the_caller(name)).for_each(|name| {
            command.env_remove(name);
        });
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn().io("run", &name)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::failed(format!("{name} has no input"), "report this as a bug"));
        };
        // The watcher never waits for a program that does not read.
        ioctl_fionbio(&input, true).map_err(std::io::Error::from).io("write to", &name)?;
        let process = ProcessHandle::open(child.id());
        thread.run(move || {
            read(BufReader::new(output), &mut hear);
            let status = child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
            ended(status);
        });
        Ok(Self { name, input, process })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the program has ended, or does not read. A part of a line may have been sent: it is of no use any more.
    pub(crate) fn say(&mut self, line: &impl Serialize) -> Result<()> {
        let mut bytes = document::to_json(line)?;
        bytes.push(b'\n');
        match self.input.write(&bytes).io("write to", &self.name)? {
            written if written == bytes.len() => Ok(()),
            _ => Err(Error::failed(format!("{} does not read its input", self.name), "see the watcher's log")),
        }
    }

    /// Ends the program, and the programs that it has started in its group.
    pub(crate) fn kill(self) {
        kill_group(self.process.as_ref());
    }

    /// Tells the program to leave. Returns it, so that one that stays can be ended.
    pub(crate) fn leave(self) -> Option<ProcessHandle> {
        self.process
    }
}

/// Ends a process and its group, if it has not ended.
pub(crate) fn kill_group(leader: Option<&ProcessHandle>) {
    let group = leader.filter(|process| !process.is_gone()).and_then(|process| Pid::from_raw(process.pid()));
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
}

/// The arguments of a program of ours, whose log looks as that of this process does.
pub(crate) fn of_ours(role: &str) -> Vec<OsString> {
    std::iter::once(role).chain(log::is_json().then_some("--json")).map(OsString::from).collect()
}

/// A program of ours that works as long as the watcher does.
#[derive(Debug, Default)]
pub(crate) struct Companion {
    /// Its name and its arguments; `None` if nobody wants it.
    command: Option<(&'static str, Vec<OsString>)>,
    program: Option<Beside>,
    has_ended: Arc<AtomicBool>,
    pauses: Pauses,
}

impl Companion {
    /// Starts a program with [`Self::keep_at_work`].
    pub(crate) fn new(name: &'static str, role: &str, mailbox: &Mailbox) -> Self {
        let args = of_ours(role).into_iter().chain(["--mailbox".into(), mailbox.root().into()]).collect();
        Self { command: Some((name, args)), ..Self::default() }
    }

    /// Starts the program, if it does not run.
    pub(crate) fn keep_at_work(&mut self) {
        let Some((name, args)) = &self.command else { return };
        if self.program.is_some() && self.has_ended.load(Ordering::Relaxed) {
            self.program = None;
            if !self.pauses.is_on() {
                // It has lasted longer than its pause.
                self.pauses.works();
            }
            tracing::warn!("{name} has ended; it is started again");
        }
        if self.program.is_some() || self.pauses.is_on() {
            return;
        }
        self.pauses.put_off();
        self.has_ended = Arc::default();
        let has_ended = Arc::clone(&self.has_ended);
        match Beside::start(programs::beside(name), args, |_| {}, move |_| has_ended.store(true, Ordering::Relaxed)) {
            Ok(program) => self.program = Some(program),
            Err(e) => log::error(&e),
        }
    }

    /// Sends a line, if the program runs and reads.
    pub(crate) fn say(&mut self, line: &impl Serialize) {
        let _ = self.program.as_mut().map(|program| program.say(line));
    }

    /// When to call [`Self::keep_at_work`] again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.pauses.until.filter(|_| self.command.is_some() && self.program.is_none())
    }
}

/// Reads whole lines until the stream ends.
pub fn read(mut output: impl BufRead, mut hear: impl FnMut(&[u8])) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.last() == Some(&b'\n') => hear(&line),
            // Nothing that is expected is so long: its rest is skipped.
            Ok(_) if output.skip_until(b'\n').is_err() => return,
            Ok(_) => {}
        }
    }
}
