//! A program that is started to ask it something. It gets a process group of its own, which ends with it.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use askbox_mailbox::{status_within, text, thread};

/// The number of bytes that are kept of the end of standard error.
const KEPT: usize = 4096;
/// A helper of the program may hold standard error open. Its words are not waited for any longer.
const FOR_LAST_WORDS: Duration = Duration::from_secs(1);

/// The program, while it runs.
pub(super) struct Asked {
    child: Child,
    /// The end of its standard error, once a thread has read it.
    errors: Option<Receiver<Vec<u8>>>,
}

impl Asked {
    pub(super) fn start(call: &mut Command) -> io::Result<Self> {
        let call = call.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = call.process_group(0).spawn()?;
        let (sender, errors) = mpsc::channel();
        let _reader = child.stderr.take().map(|mut errors| {
            thread::start(move || {
                let (mut tail, mut piece) = (Vec::new(), [0; KEPT]);
                while let Ok(n @ 1..) = errors.read(&mut piece) {
                    tail.extend_from_slice(&piece[..n]);
                    tail.drain(..tail.len().saturating_sub(KEPT));
                }
                let _ = sender.send(tail);
            })
        });
        Ok(Self { child, errors: Some(errors) })
    }

    /// What a thread reads from its output. An error if that takes too long, or if the output says nothing.
    pub(super) fn hear<T: Send + 'static>(
        &mut self,
        patience: Duration,
        read: impl FnOnce(ChildStdin, ChildStdout) -> Option<T> + Send + 'static,
    ) -> Result<T, RecvTimeoutError> {
        let (Some(input), Some(output)) = (self.child.stdin.take(), self.child.stdout.take()) else {
            return Err(RecvTimeoutError::Disconnected);
        };
        let (sender, heard) = mpsc::channel();
        let _reader = thread::start(move || {
            let _ = read(input, output).map(|heard| sender.send(heard));
        });
        heard.recv_timeout(patience)
    }

    /// Its exit code, if it ends by itself within this time.
    pub(super) fn code(&mut self, patience: Duration) -> Option<i32> {
        drop(self.child.stdin.take());
        status_within(&mut self.child, patience).ok().flatten()?.code()
    }

    /// Ends it. Returns `: ` and its last line on standard error, or nothing.
    pub(super) fn last_words(mut self) -> String {
        let errors = self.errors.take();
        drop(self);
        let tail = errors.and_then(|errors| errors.recv_timeout(FOR_LAST_WORDS).ok()).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail);
        let last = tail.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(String::new, |line| format!(": {}", text::excerpt(line.trim(), 300)))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = Pid::from_raw(self.child.id().cast_signed()).map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
    }
}
