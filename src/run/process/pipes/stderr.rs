//! The agent's standard error: kept in a file, and its last line, which is usually the reason for a failure.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender};

use crate::error::{IoContext, Result};
use crate::run::process::poll_thread::PollSource;
use crate::{disk, text};

/// How much is kept in the file, in bytes.
const KEPT: u64 = 4 << 20;
/// How much of the end is searched for the last line, in bytes.
const TAIL: usize = 4 << 10;

/// Keeps the first bytes of the agent's standard error in a file, and reads the rest as well, so that the agent never blocks on it. At the
/// end it sends the last line that is not blank.
pub(crate) struct AgentErrors {
    from: PipeReader,
    /// Created with the first byte.
    to: PathBuf,
    kept: Option<File>,
    /// How many bytes may still be kept.
    left: u64,
    tail: Vec<u8>,
    last_line: SyncSender<String>,
}

impl AgentErrors {
    pub(crate) fn new(from: PipeReader, to: PathBuf) -> (Self, Receiver<String>) {
        let (last_line, received) = mpsc::sync_channel(1);
        (Self { from, to, kept: None, left: KEPT, tail: Vec::new(), last_line }, received)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let file = match &mut self.kept {
            Some(file) => file,
            None => self.kept.insert(disk::open_append(&self.to)?),
        };
        file.write_all(bytes).io("write", &self.to)
    }

    fn last_line(&self) -> String {
        let tail = String::from_utf8_lossy(&self.tail);
        let last = tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        text::excerpt(last.trim(), 300)
    }
}

impl PollSource for AgentErrors {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.from.as_fd()]
    }

    fn ready(&mut self) -> bool {
        let mut buffer = [0; 8192];
        let n = match self.from.read(&mut buffer) {
            Ok(n @ 1..) => n,
            Err(e) if e.kind() == ErrorKind::Interrupted => return true,
            Ok(0) | Err(_) => {
                let _ = self.last_line.send(self.last_line());
                return false;
            }
        };
        let keep = n.min(usize::try_from(self.left).unwrap_or(n));
        if keep > 0 && self.keep(&buffer[..keep]).is_err() {
            self.left = 0;
        }
        self.left = self.left.saturating_sub(keep as u64);
        self.tail.extend_from_slice(&buffer[..n]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        true
    }
}
