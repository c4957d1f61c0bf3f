//! The agent's three pipes. None of them can block another: the output has a thread, the complaints are looked out for, and the
//! input gets a thread once it does not take what is said.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::agent::stream::lines::BoundedLines;
use crate::agent::stream::{Interpreter, StreamItem};
use crate::error::{IoContext, Result};
use crate::run::process::lookout::Source;
use crate::{disk, text};

/// Kept of the agent's standard error, in bytes.
const STDERR_LIMIT: u64 = 4 << 20;
/// Its end that is looked at for a reason, in bytes.
const COMPLAINT: usize = 4 << 10;

/// The agent's standard input. It closes when this is dropped, behind all that was said.
pub(crate) enum Input {
    /// As long as the pipe takes what is said: nearly always.
    Pipe(ChildStdin),
    /// The agent did not read: a thread waits until it does.
    Thread(Sender<Vec<u8>>),
    /// The agent has closed it.
    Closed,
}

impl Input {
    pub(crate) fn of(child: &mut Child) -> Self {
        match child.stdin.take() {
            Some(pipe) if fcntl_setfl(&pipe, OFlags::NONBLOCK).is_ok() => Self::Pipe(pipe),
            _ => Self::Closed,
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        *self = match std::mem::replace(self, Self::Closed) {
            Self::Pipe(mut pipe) => match write_what_fits(&mut pipe, line.as_bytes()) {
                Ok([]) => Self::Pipe(pipe),
                Ok(rest) => Self::Thread(spawn_writer(pipe, rest.to_vec())),
                Err(_) => Self::Closed,
            },
            Self::Thread(lines) => match lines.send(line.into()) {
                Ok(()) => Self::Thread(lines),
                Err(_) => Self::Closed,
            },
            Self::Closed => Self::Closed,
        };
    }
}

/// Returns what did not fit.
fn write_what_fits<'a>(pipe: &mut ChildStdin, mut line: &'a [u8]) -> std::io::Result<&'a [u8]> {
    while !line.is_empty() {
        match pipe.write(line) {
            Ok(written) => line = &line[written..],
            Err(e) if e.kind() == ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(line)
}

fn spawn_writer(mut pipe: ChildStdin, rest: Vec<u8>) -> Sender<Vec<u8>> {
    let (sender, lines) = mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let _ = fcntl_setfl(&pipe, OFlags::empty());
        for line in std::iter::once(rest).chain(lines) {
            if pipe.write_all(&line).is_err() {
                return;
            }
        }
    });
    sender
}

/// Turns the agent's output into signals. `take` may block, which holds the agent back through the pipe; it says whether
/// anybody still wants more. `ended` comes last.
pub(crate) fn spawn_reader(
    child: &mut Child,
    interpreter: Arc<Mutex<Interpreter>>,
    mut take: impl FnMut(Vec<StreamItem>) -> bool + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) {
    let Some(stdout) = child.stdout.take() else { return };
    std::thread::spawn(move || {
        let mut lines = BoundedLines::new(stdout);
        while let Ok(Some(line)) = lines.next_line() {
            let signals = interpreter.lock().unwrap_or_else(PoisonError::into_inner).feed(&line);
            if !take(signals) {
                return;
            }
        }
        ended();
    });
}

/// Keeps the head of the agent's standard error and reads on, so that the agent never blocks on it. At its end the last line
/// that says something is sent.
pub(crate) struct Complaints {
    from: PipeReader,
    /// Made when there is something to be kept.
    to: PathBuf,
    kept: Option<File>,
    /// How many bytes may still be kept.
    left: u64,
    tail: Vec<u8>,
    last_words: SyncSender<String>,
}

impl Complaints {
    pub(crate) fn new(from: PipeReader, to: PathBuf) -> (Self, Receiver<String>) {
        let (last_words, said) = mpsc::sync_channel(1);
        (Self { from, to, kept: None, left: STDERR_LIMIT, tail: Vec::new(), last_words }, said)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let file = match &mut self.kept {
            Some(file) => file,
            None => self.kept.insert(disk::open_append(&self.to)?),
        };
        file.write_all(bytes).io("write", &self.to)
    }

    fn last_words(&self) -> String {
        let tail = String::from_utf8_lossy(&self.tail);
        let last = tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        text::excerpt(last.trim(), 300)
    }
}

impl Source for Complaints {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.from.as_fd()]
    }

    fn ready(&mut self) -> bool {
        let mut buffer = [0; 8192];
        let n = match self.from.read(&mut buffer) {
            Ok(n @ 1..) => n,
            Err(e) if e.kind() == ErrorKind::Interrupted => return true,
            Ok(0) | Err(_) => {
                let _ = self.last_words.send(self.last_words());
                return false;
            }
        };
        let keep = n.min(usize::try_from(self.left).unwrap_or(n));
        if keep > 0 && self.keep(&buffer[..keep]).is_err() {
            self.left = 0;
        }
        self.left = self.left.saturating_sub(keep as u64);
        self.tail.extend_from_slice(&buffer[..n]);
        self.tail.drain(..self.tail.len().saturating_sub(COMPLAINT));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn whoever_speaks_never_waits_for_an_agent_that_does_not_read_and_all_comes_in_order() {
        let mut agent = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = Input::of(&mut agent);
        let large = "x".repeat(2 << 20) + "\n";
        let lines = ["first\n", &large, "second\n", &large, "third\n"].map(str::to_owned);
        let all = lines.concat();
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            lines.iter().for_each(|line| input.say(line));
            drop(input);
            sender.send(()).unwrap();
        });
        // Nobody reads what it prints yet; so it does not read either.
        said.recv_timeout(Duration::from_secs(10)).unwrap();
        let mut heard = String::new();
        agent.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
        assert!(heard == all, "{} bytes of {}", heard.len(), all.len());
        assert!(agent.wait().unwrap().success());
    }

    #[test]
    fn an_agent_that_has_closed_its_input_is_told_nothing() {
        let mut agent = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = Input::of(&mut agent);
        agent.wait().unwrap();
        input.say("hello\n");
        assert!(matches!(input, Input::Closed));
        input.say("hello\n");
    }
}
