//! The agent's three pipes. None of them can block another.
//!
//! - The attending thread writes the standard input. Writing never blocks: a thread that was started before the agent goes on if the
//!   agent stops reading.
//! - A thread of its own reads the standard output.
//! - The poll thread keeps the standard error in a file. Its last line is usually the reason for a failure.
//!
//! A process that the agent left behind may hold the pipes open for ever. Once the draining begins, their readers take only what is already
//! in them.
//!
//! | file | read or written by |
//! |---|---|
//! | `stdin` | the attending thread; a thread of its own while the agent does not read |
//! | `stdout` | a thread of its own |
//! | `stderr` | the poll thread |

use std::fs::File;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use crate::process::poll_thread::PollSource;
use askbox_agent::output::AgentOutput;
use askbox_agent::stream::StreamItem;
use askbox_agent::stream::lines::BoundedLines;
use askbox_mailbox::thread::ReadyThread;
use askbox_mailbox::{IoContext, Result, disk, text};

/// The most bytes that wait for an agent that does not read. One more line may be added.
const MAX_UNREAD: usize = 4 << 20;

/// The agent's standard input. When this is dropped, the input closes after everything that was written.
pub enum AgentInput {
    /// The pipe has taken everything so far.
    Pipe(ChildStdin, ReadyThread),
    /// The pipe was full: the thread waits until the agent reads.
    Thread(InputQueue),
    /// The agent has closed it.
    Closed,
}

impl AgentInput {
    /// Takes the child's input. `thread` is needed if the agent stops reading.
    pub fn of_child(child: &mut Child, thread: ReadyThread) -> Self {
        match child.stdin.take() {
            Some(pipe) if fcntl_setfl(&pipe, OFlags::NONBLOCK).is_ok() => Self::Pipe(pipe, thread),
            _ => Self::Closed,
        }
    }

    /// True if 4 MiB wait for the agent.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Thread(queue) if queue.unread.load(Ordering::Relaxed) >= MAX_UNREAD)
    }

    /// Writes a line. Never blocks. Drops the line if the input is full.
    pub fn say(&mut self, line: &str) {
        if self.is_full() {
            return;
        }
        *self = match std::mem::replace(self, Self::Closed) {
            Self::Pipe(mut pipe, thread) => match write_what_fits(&mut pipe, line.as_bytes()) {
                Ok([]) => Self::Pipe(pipe, thread),
                Ok(rest) => Self::Thread(write_on(thread, pipe, rest.to_vec())),
                Err(_) => Self::Closed,
            },
            Self::Thread(queue) if queue.push(line.into()) => Self::Thread(queue),
            Self::Thread(_) | Self::Closed => Self::Closed,
        };
    }
}

/// Lines that wait for the agent.
pub struct InputQueue {
    lines: Sender<Vec<u8>>,
    /// How many bytes wait.
    unread: Arc<AtomicUsize>,
}

impl InputQueue {
    /// Returns `false` if the agent has closed its input.
    fn push(&self, line: Vec<u8>) -> bool {
        self.unread.fetch_add(line.len(), Ordering::Relaxed);
        self.lines.send(line).is_ok()
    }
}

/// Writes as much as fits into the pipe. Returns the rest.
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

fn write_on(thread: ReadyThread, mut pipe: ChildStdin, rest: Vec<u8>) -> InputQueue {
    let (lines, waiting) = mpsc::channel::<Vec<u8>>();
    let queue = InputQueue { lines, unread: Arc::default() };
    queue.push(rest);
    let unread = queue.unread.clone();
    thread.run(move || {
        let _ = fcntl_setfl(&pipe, OFlags::empty());
        for line in waiting {
            if pipe.write_all(&line).is_err() {
                return;
            }
            unread.fetch_sub(line.len(), Ordering::Relaxed);
        }
    });
    queue
}

/// Ends the reading of the agent's output: when this is dropped, the readers take what the pipes hold, and then see their end.
#[derive(Debug)]
pub(crate) struct Draining {
    _begins_with_the_drop: PipeWriter,
}

/// Tells a reader that the draining has begun.
#[derive(Debug)]
pub(crate) struct DrainSign(PipeReader);

impl Draining {
    /// For the two readers of an agent.
    ///
    /// # Errors
    /// [`Error::is_shortage`](askbox_mailbox::Error::is_shortage) if the system refuses a pipe.
    pub(crate) fn new() -> Result<(Self, [DrainSign; 2])> {
        let (one, begins) = std::io::pipe().io("open", "a pipe")?;
        let other = one.try_clone().io("open", "a pipe")?;
        Ok((Self { _begins_with_the_drop: begins }, [DrainSign(one), DrainSign(other)]))
    }
}

impl DrainSign {
    /// Waits until the pipe has data or ends, or the draining begins. Returns `false` if the pipe is empty and the draining has begun.
    fn wait(&self, pipe: BorrowedFd<'_>) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(pipe, PollFlags::IN), PollFd::new(&self.0, PollFlags::empty())];
        loop {
            match poll(&mut fds, None) {
                // If it cannot be told, reading tells more than not reading.
                Ok(_) => return !fds[0].revents().is_empty() || fds[1].revents().is_empty(),
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }
}

/// The agent's standard output, which also ends when the draining has begun and nothing is left.
struct Drained<R> {
    from: R,
    sign: DrainSign,
}

impl<R: Read + AsFd> Read for Drained<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.sign.wait(self.from.as_fd()) { self.from.read(buffer) } else { Ok(0) }
    }
}

/// Reads on this thread. Calls `take` with the items of each line that the agent prints, and `ended` after the last one. While `take`
/// blocks, the agent waits as soon as its pipe is full. `take` returns whether more items are wanted.
pub(crate) fn read_output(
    thread: ReadyThread,
    child: &mut Child,
    sign: DrainSign,
    output: Arc<Mutex<AgentOutput>>,
    mut take: impl FnMut(Vec<StreamItem>) -> bool + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) {
    let Some(stdout) = child.stdout.take() else { return };
    thread.run(move || {
        let lines = BoundedLines::new(Drained { from: stdout, sign });
        let has_blank_lines = output.lock().unwrap_or_else(PoisonError::into_inner).has_blank_lines();
        let mut lines = if has_blank_lines { lines.with_blank_lines() } else { lines };
        while let Ok(Some(line)) = lines.next_line() {
            let items = output.lock().unwrap_or_else(PoisonError::into_inner).feed(&line);
            if !take(items) {
                return;
            }
        }
        ended();
    });
}

/// The limit of the file, in bytes.
const KEPT_ERRORS: u64 = 4 << 20;
/// The length of the end that is searched for the last line, in bytes.
const SEARCHED_TAIL: usize = 4 << 10;

/// Keeps the first bytes of the agent's standard error in a file, and reads the rest as well, so that the agent never blocks on it.
/// After the last byte it sends the last line that is not blank.
pub(crate) struct AgentErrors {
    from: PipeReader,
    sign: DrainSign,
    /// Created with the first byte.
    to: PathBuf,
    kept: Option<File>,
    /// How many bytes may still be kept.
    left: u64,
    tail: Vec<u8>,
    last_line: SyncSender<String>,
}

impl AgentErrors {
    pub(crate) fn new(from: PipeReader, sign: DrainSign, to: PathBuf) -> (Self, Receiver<String>) {
        let (last_line, received) = mpsc::sync_channel(1);
        (Self { from, sign, to, kept: None, left: KEPT_ERRORS, tail: Vec::new(), last_line }, received)
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
        vec![self.from.as_fd(), self.sign.0.as_fd()]
    }

    fn ready(&mut self) -> bool {
        let mut buffer = [0; 8192];
        let read = if self.sign.wait(self.from.as_fd()) { self.from.read(&mut buffer) } else { Ok(0) };
        let n = match read {
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
        self.tail.drain(..self.tail.len().saturating_sub(SEARCHED_TAIL));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::process::poll_thread::PollThread;

    /// Reads as a late reader does: the draining has begun, and the pipe's other end stays open.
    fn drained(said: &[u8]) -> Vec<u8> {
        let (from, mut agent) = std::io::pipe().unwrap();
        let (draining, [sign, _]) = Draining::new().unwrap();
        agent.write_all(said).unwrap();
        drop(draining);
        let mut heard = Vec::new();
        Drained { from, sign }.read_to_end(&mut heard).unwrap();
        drop(agent);
        heard
    }

    #[test]
    fn what_is_in_the_pipe_is_read_by_a_late_reader_that_then_ends() {
        assert_eq!(drained(b"first\nlast\n"), b"first\nlast\n");
        assert!(drained(&[7; 60_000]) == [7; 60_000]);
        assert!(drained(b"").is_empty());
    }

    #[test]
    fn the_last_complaint_comes_although_a_child_holds_the_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let (from, mut agent) = std::io::pipe().unwrap();
        let (draining, [_, sign]) = Draining::new().unwrap();
        let (errors, last_line) = AgentErrors::new(from, sign, folder.path().join("stderr.log"));
        let mut thread = PollThread::new().unwrap();
        agent.write_all(b"begun\nno such option\n").unwrap();
        thread.start(vec![Box::new(errors)]);
        assert!(last_line.recv_timeout(Duration::from_millis(50)).is_err(), "more may come");
        drop(draining);
        assert_eq!(last_line.recv_timeout(Duration::from_secs(60)).unwrap(), "no such option");
        assert_eq!(std::fs::read(folder.path().join("stderr.log")).unwrap(), b"begun\nno such option\n");
        drop(agent);
    }

    #[test]
    fn writing_never_waits_for_an_agent_that_does_not_read() {
        let mut agent = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of_child(&mut agent, ReadyThread::start().unwrap());
        let large = "x".repeat(2 << 20) + "\n";
        let lines = ["first\n", &large, "second\n", &large, "third\n"].map(str::to_owned);
        let all = lines.concat();
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            lines.iter().for_each(|line| input.say(line));
            drop(input);
            sender.send(()).unwrap();
        });
        // `cat` blocks on its output, which is not read yet, so it does not read its input.
        said.recv_timeout(Duration::from_secs(60)).unwrap();
        let mut heard = String::new();
        agent.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
        assert!(heard == all, "{} bytes of {}", heard.len(), all.len());
        assert!(agent.wait().unwrap().success());
    }

    #[test]
    fn an_agent_that_does_not_read_takes_bounded_memory() {
        let mut agent = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of_child(&mut agent, ReadyThread::start().unwrap());
        let line = "x".repeat(60_000) + "\n";
        (0..10_000).for_each(|_| input.say(&line));
        drop(input);
        let mut heard = Vec::new();
        agent.stdout.take().unwrap().read_to_end(&mut heard).unwrap();
        assert_eq!(heard.len() % line.len(), 0, "{} bytes", heard.len());
        // Two pipes and `cat` itself hold little compared to the limit.
        let accepted = heard.len() / line.len();
        assert!((MAX_UNREAD / line.len()..2 * MAX_UNREAD / line.len()).contains(&accepted), "{accepted} lines");
        agent.wait().unwrap();
    }

    #[test]
    fn writing_to_an_agent_that_has_closed_its_input_does_nothing() {
        let mut agent = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of_child(&mut agent, ReadyThread::start().unwrap());
        agent.wait().unwrap();
        // A child of another test has the pipe's other end until it runs its own program.
        let until = Instant::now() + Duration::from_secs(60);
        while !matches!(input, AgentInput::Closed) {
            assert!(Instant::now() < until, "it is still open");
            input.say("hello\n");
            std::thread::sleep(Duration::from_millis(5));
        }
        input.say("hello\n");
    }
}
