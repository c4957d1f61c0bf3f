//! The agent's standard input. Writing never blocks: a thread that was started before the agent goes on if the agent stops reading.

use std::io::{ErrorKind, Write};
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::thread::Waiting;

/// The most that waits for an agent that does not read, in bytes, and one line more.
const MAX_UNREAD: usize = 4 << 20;

/// The agent's standard input. It closes when this is dropped, after all that was written.
pub(crate) enum AgentInput {
    /// The pipe has taken everything so far.
    Pipe(ChildStdin, Waiting),
    /// The pipe was full: the thread waits until the agent reads.
    Thread(Queue),
    /// The agent has closed it.
    Closed,
}

impl AgentInput {
    /// `thread` is for the case that the agent does not read.
    pub(crate) fn of(child: &mut Child, thread: Waiting) -> Self {
        match child.stdin.take() {
            Some(pipe) if fcntl_setfl(&pipe, OFlags::NONBLOCK).is_ok() => Self::Pipe(pipe, thread),
            _ => Self::Closed,
        }
    }

    /// Whether [`MAX_UNREAD`] bytes wait for the agent.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Thread(queue) if queue.unread.load(Ordering::Relaxed) >= MAX_UNREAD)
    }

    /// Writes a line. Never blocks. Drops the line if the input is full.
    pub(crate) fn say(&mut self, line: &str) {
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
pub(crate) struct Queue {
    lines: Sender<Vec<u8>>,
    /// How many bytes wait.
    unread: Arc<AtomicUsize>,
}

impl Queue {
    /// Returns `false` if the agent has closed its input.
    fn push(&self, line: Vec<u8>) -> bool {
        self.unread.fetch_add(line.len(), Ordering::Relaxed);
        self.lines.send(line).is_ok()
    }
}

/// Returns what did not fit into the pipe.
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

fn write_on(thread: Waiting, mut pipe: ChildStdin, rest: Vec<u8>) -> Queue {
    let (lines, waiting) = mpsc::channel::<Vec<u8>>();
    let queue = Queue { lines, unread: Arc::default() };
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn writing_never_waits_for_an_agent_that_does_not_read_and_all_lines_arrive_in_order() {
        let mut agent = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of(&mut agent, Waiting::start().unwrap());
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
        said.recv_timeout(Duration::from_secs(10)).unwrap();
        let mut heard = String::new();
        agent.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
        assert!(heard == all, "{} bytes of {}", heard.len(), all.len());
        assert!(agent.wait().unwrap().success());
    }

    #[test]
    fn an_agent_that_does_not_read_takes_bounded_memory_and_gets_what_was_accepted() {
        let mut agent = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of(&mut agent, Waiting::start().unwrap());
        let line = "x".repeat(60_000) + "\n";
        let mut accepted = 0;
        for _ in 0..10_000 {
            accepted += usize::from(!input.is_full());
            input.say(&line);
        }
        // What two pipes and `cat` itself hold is small beside the limit.
        assert!((MAX_UNREAD / line.len()..2 * MAX_UNREAD / line.len()).contains(&accepted), "{accepted} lines");
        drop(input);
        let mut heard = Vec::new();
        agent.stdout.take().unwrap().read_to_end(&mut heard).unwrap();
        assert_eq!(heard.len(), accepted * line.len());
        agent.wait().unwrap();
    }

    #[test]
    fn writing_to_an_agent_that_has_closed_its_input_does_nothing() {
        let mut agent = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of(&mut agent, Waiting::start().unwrap());
        agent.wait().unwrap();
        input.say("hello\n");
        assert!(matches!(input, AgentInput::Closed));
        input.say("hello\n");
    }
}
