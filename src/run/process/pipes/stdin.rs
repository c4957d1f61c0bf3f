//! The agent's standard input. Writing never blocks: a thread that was started before the agent goes on if the agent stops reading.

use std::io::{ErrorKind, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Sender};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::thread::Waiting;

/// The agent's standard input. It closes when this is dropped, after all that was written.
pub(crate) enum AgentInput {
    /// The pipe has taken everything so far.
    Pipe(ChildStdin, Waiting),
    /// The pipe was full: the thread waits until the agent reads.
    Thread(Sender<Vec<u8>>),
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

    /// Writes a line. Never blocks.
    pub(crate) fn say(&mut self, line: &str) {
        *self = match std::mem::replace(self, Self::Closed) {
            Self::Pipe(mut pipe, thread) => match write_what_fits(&mut pipe, line.as_bytes()) {
                Ok([]) => Self::Pipe(pipe, thread),
                Ok(rest) => Self::Thread(write_on(thread, pipe, rest.to_vec())),
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

fn write_on(thread: Waiting, mut pipe: ChildStdin, rest: Vec<u8>) -> Sender<Vec<u8>> {
    let (sender, lines) = mpsc::channel::<Vec<u8>>();
    thread.run(move || {
        let _ = fcntl_setfl(&pipe, OFlags::empty());
        for line in std::iter::once(rest).chain(lines) {
            if pipe.write_all(&line).is_err() {
                return;
            }
        }
    });
    sender
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
    fn writing_to_an_agent_that_has_closed_its_input_does_nothing() {
        let mut agent = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = AgentInput::of(&mut agent, Waiting::start().unwrap());
        agent.wait().unwrap();
        input.say("hello\n");
        assert!(matches!(input, AgentInput::Closed));
        input.say("hello\n");
    }
}
