//! The log of a run, as a view of the inbox: `relaunch logs ID --follow` writes it, and the inbox keeps its last lines.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, thread};
use askbox_run::programs;

/// The most lines that are kept. The oldest go first.
const KEPT: usize = 5_000;
/// The longest line that is kept, in bytes.
const LONGEST: usize = 16 << 10;
/// The pause after each piece, so that an agent that writes fast does not have the screen drawn all the time.
const PAUSE: Duration = Duration::from_millis(25);

/// The log on the screen.
pub struct LogPane {
    pub workflow: WorkflowId,
    written: Arc<Mutex<Written>>,
    program: Child,
    /// The number of lines that are below the screen; 0 follows the log.
    pub back: usize,
}

/// The part of the log that is there so far.
#[derive(Debug, Default)]
struct Written {
    lines: VecDeque<String>,
    /// The beginning of the line that is being read.
    begun: Vec<u8>,
    is_over: bool,
    /// True if it has changed since somebody asked.
    has_grown: bool,
}

impl LogPane {
    /// Begins to follow the log of a workflow. `ring` is called when it has grown.
    ///
    /// # Errors
    /// If `relaunch` cannot be started.
    pub fn follow(mailbox: &Mailbox, workflow: WorkflowId, ring: impl Fn() + Send + 'static) -> Result<Self> {
        let mut command = Command::new(programs::beside("relaunch"));
        command.args(["logs", workflow.as_str(), "--follow", "--mailbox"]).arg(mailbox.root());
        // What it has to say besides the log comes with the log.
        let (output, errors) = io::pipe().map_err(|e| failed(&workflow, &e))?;
        let both = errors.try_clone().map_err(|e| failed(&workflow, &e))?;
        command.stdin(Stdio::null()).stdout(errors).stderr(both);
        let program = command.spawn().map_err(|e| failed(&workflow, &e))?;
        drop(command);
        let written = Arc::<Mutex<Written>>::default();
        let pane = Self { workflow, written: Arc::clone(&written), program, back: 0 };
        thread::start(move || read(output, &written, &ring))?;
        Ok(pane)
    }

    /// The last lines above the bottom of the screen, the newest first.
    pub fn newest_first<T>(&self, take: impl FnOnce(&mut dyn Iterator<Item = &str>) -> T) -> T {
        let written = thread::locked(&self.written);
        take(&mut written.lines.iter().rev().skip(self.back).map(String::as_str))
    }

    /// True if the log has changed since the last call.
    pub fn has_grown(&self) -> bool {
        std::mem::take(&mut thread::locked(&self.written).has_grown)
    }

    /// True if the log has ended.
    pub fn is_over(&self) -> bool {
        thread::locked(&self.written).is_over
    }

    /// Scrolls by this many lines; a negative number leads to older ones. At the newest one it follows the log again.
    pub fn step(&mut self, by: isize) {
        let most = thread::locked(&self.written).lines.len().saturating_sub(1);
        self.back = self.back.saturating_add_signed(-by).min(most);
    }
}

impl Drop for LogPane {
    fn drop(&mut self) {
        let _ended = self.program.kill().and_then(|()| self.program.wait());
    }
}

fn failed(workflow: &WorkflowId, e: &io::Error) -> Error {
    Error::failed(format!("cannot run relaunch: {e}"), format!("see the log with: relaunch logs {workflow}"))
}

/// Reads the log to its end.
fn read(mut output: impl Read, written: &Mutex<Written>, ring: &dyn Fn()) {
    let mut piece = vec![0; 64 << 10];
    loop {
        match output.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => thread::locked(written).add(&piece[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        ring();
        std::thread::sleep(PAUSE);
    }
    let mut written = thread::locked(written);
    written.end_line();
    (written.is_over, written.has_grown) = (true, true);
    drop(written);
    ring();
}

impl Written {
    fn add(&mut self, piece: &[u8]) {
        self.has_grown = true;
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST.saturating_sub(self.begun.len());
            let text = part.strip_suffix(b"\n");
            self.begun.extend_from_slice(&text.unwrap_or(part)[..text.unwrap_or(part).len().min(room)]);
            if text.is_some() {
                self.lines.push_back(String::from_utf8_lossy(&std::mem::take(&mut self.begun)).into_owned());
            }
        }
        while self.lines.len() > KEPT {
            self.lines.pop_front();
        }
    }

    fn end_line(&mut self) {
        if !self.begun.is_empty() {
            self.add(b"\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together_and_bounded_in_length_and_number() {
        let mut written = Written::default();
        written.add(b"one\ntw");
        written.add(b"o\n\nthr");
        assert_eq!(written.lines, ["one", "two", ""]);
        written.end_line();
        assert_eq!(written.lines.back().map(String::as_str), Some("thr"));
        written.add(&[b'x'; 2 * LONGEST]);
        written.add(b"\nnext\n");
        assert_eq!((written.lines[4].len(), written.lines[5].as_str()), (LONGEST, "next"));
        for _ in 0..KEPT {
            written.add(b"more\n");
        }
        assert_eq!((written.lines.len(), written.lines[0].as_str()), (KEPT, "more"));
    }
}
