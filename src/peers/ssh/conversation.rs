//! A running ssh: lines of bounded length, waits of bounded length, and why it ended. Dropping it kills it.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::peers::lines::MAX_LINE;
use crate::peers::peer::Stop;
use crate::text;

/// How much of standard error is kept: its end says why ssh ended.
const KEPT_STDERR: usize = 4 << 10;
/// How much is read at once.
const PIECE: usize = 64 << 10;
/// How long ssh may take to end once it has closed its output.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A running ssh.
#[derive(Debug)]
pub(super) struct Conversation {
    child: Child,
    out: ChildStdout,
    err: Option<ChildStderr>,
    /// What was read and not yet taken; the lines before `taken` are.
    read: Vec<u8>,
    taken: usize,
    /// Up to here there is no end of a line.
    searched: usize,
    said: Vec<u8>,
    is_left: bool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line, without its end.
    Line(Vec<u8>),
    /// It ended.
    End,
    /// Nothing came within the limit.
    Silence,
    /// A line that is longer than [`MAX_LINE`].
    TooLong,
    /// The work is to end.
    Stopped,
}

impl Conversation {
    /// Starts it.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let out = out.ok_or_else(|| io::Error::other("there is no standard output"))?;
        for fd in [Some(rustix::fd::AsFd::as_fd(&out)), err.as_ref().map(rustix::fd::AsFd::as_fd)].into_iter().flatten() {
            rustix::fs::fcntl_setfl(fd, OFlags::NONBLOCK)?;
        }
        Ok(Self { child, out, err, read: Vec::new(), taken: 0, searched: 0, said: Vec::new(), is_left: false })
    }

    /// Sends everything, and closes the way there. `Err` if not all was written within `limit`.
    pub(super) fn send(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        let end = Instant::now() + limit;
        let mut input = self.child.stdin.take().ok_or_else(|| io::Error::other("there is no standard input"))?;
        rustix::fs::fcntl_setfl(&input, OFlags::NONBLOCK)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            match input.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    let left = end.checked_duration_since(Instant::now()).ok_or(ErrorKind::TimedOut)?;
                    let mut fds = [PollFd::new(&input, PollFlags::OUT)];
                    rustix::io::retry_on_intr(|| poll(&mut fds, Some(&timespec(left))))?;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The next line, within `limit`.
    pub(super) fn next(&mut self, limit: Duration, stop: Option<&Stop>) -> Next {
        let end = Instant::now() + limit;
        loop {
            if let Some(at) = self.read[self.searched..].iter().position(|byte| *byte == b'\n') {
                let at = self.searched + at;
                let line = self.read[self.taken..at].to_vec();
                (self.taken, self.searched) = (at + 1, at + 1);
                return if line.len() > MAX_LINE { Next::TooLong } else { Next::Line(line) };
            }
            self.read.drain(..self.taken);
            (self.taken, self.searched) = (0, self.read.len());
            if self.read.len() > MAX_LINE {
                return Next::TooLong;
            }
            if stop.is_some_and(Stop::is_set) {
                return Next::Stopped;
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else { return Next::Silence };
            match self.read_some(left, stop) {
                Ok(true) => {}
                Ok(false) => return Next::End,
                Err(_) => return Next::End,
            }
        }
    }

    /// Waits for output and reads a piece of it. `false` at its end.
    fn read_some(&mut self, limit: Duration, stop: Option<&Stop>) -> io::Result<bool> {
        {
            let mut fds = vec![PollFd::new(&self.out, PollFlags::IN)];
            fds.extend(self.err.as_ref().map(|err| PollFd::new(err, PollFlags::IN)));
            fds.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
            rustix::io::retry_on_intr(|| poll(&mut fds, Some(&timespec(limit))))?;
        }
        self.read_stderr();
        let before = self.read.len();
        self.read.resize(before + PIECE, 0);
        let result = self.out.read(&mut self.read[before..]);
        self.read.truncate(before + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => Ok(false),
            Ok(_) => Ok(true),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(true),
            Err(e) => Err(e),
        }
    }

    fn read_stderr(&mut self) {
        let Some(err) = &mut self.err else { return };
        let mut piece = [0; 1024];
        // One piece at a time: whoever writes without end is heard, and holds up nothing.
        match err.read(&mut piece) {
            Ok(0) => self.err = None,
            Ok(n) => {
                self.said.extend_from_slice(&piece[..n]);
                let surplus = self.said.len().saturating_sub(KEPT_STDERR);
                self.said.drain(..surplus);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.err = None,
        }
    }

    /// Once it has ended: its exit status, if it has one, and the last words on standard error.
    pub(super) fn ended(mut self) -> (Option<i32>, String) {
        let end = Instant::now() + ENDS_WITHIN;
        let status = loop {
            let all_read = self.err.is_none();
            match self.child.try_wait() {
                Ok(Some(status)) if all_read || Instant::now() >= end => break status.code(),
                Err(_) => break None,
                Ok(None) if Instant::now() >= end => break None,
                Ok(status) => {
                    let had_ended = status.is_some();
                    let before = self.said.len();
                    self.read_stderr();
                    // A connection that is kept may hold standard error open: what has come by the end is all.
                    if had_ended && self.said.len() == before {
                        break status.and_then(|status| status.code());
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        };
        let words = String::from_utf8_lossy(&self.said).into_owned();
        let words: Vec<_> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // A program of ours says what is wrong in the line before the last.
        let error = words.iter().rev().find_map(|line| line.strip_prefix("error: "));
        (status, text::excerpt(error.or(words.last().copied()).unwrap_or_default(), 300))
    }
}

impl Conversation {
    /// Lets ssh go on connecting when this process ends: the next one finds the kept connection. It ends by itself, because nobody reads it.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if self.is_left {
            return;
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn timespec(limit: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), tv_nsec: limit.subsec_nanos().into() }
}
