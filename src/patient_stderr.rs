//! Standard error that never holds up its writer: a service goes on working when its log is not read.

use std::io::Write as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long to wait for a reader that has stopped to read, once.
const WAIT: Duration = Duration::from_millis(200);
/// What a pipe or socket takes without blocking once it reports that it can be written to: `PIPE_BUF`.
const PIECE: usize = 4096;

/// Lines on their way to standard error. A line that was begun is completed later; lines after it are counted, and lost.
#[derive(Debug, Default)]
pub(crate) struct PatientStderr {
    /// What is still to be written of one line.
    rest: Vec<u8>,
    lost: u64,
    /// The reader did not read within [`WAIT`]: it is not waited for again before it does.
    is_stuck: bool,
}

impl PatientStderr {
    /// Writes a line, as far as it can be written now. `notice` makes the line that says how many lines were lost before.
    pub(crate) fn write(&mut self, line: &str, notice: impl FnOnce(u64) -> String) {
        if self.push() && self.lost > 0 {
            self.rest = notice(self.lost).into_bytes();
            self.lost = 0;
            self.push();
        }
        if !self.rest.is_empty() {
            self.lost += 1;
            return;
        }
        self.rest = line.as_bytes().to_vec();
        self.push();
    }

    /// Writes what is left of the last line. Returns whether nothing is left.
    fn push(&mut self) -> bool {
        while !self.rest.is_empty() && self.can_write() {
            let piece = &self.rest[..self.rest.len().min(PIECE)];
            #[allow(clippy::disallowed_methods, reason = "the lines are filtered")]
            // An error, such as a full disk, cannot be reported anywhere: the line waits for the next one.
            match std::io::stderr().write(piece) {
                Ok(written) if written > 0 => drop(self.rest.drain(..written)),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        self.rest.is_empty()
    }

    fn can_write(&mut self) -> bool {
        let wait = if self.is_stuck { Duration::ZERO } else { WAIT };
        let stderr = rustix::stdio::stderr();
        let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        // If it cannot be asked, the write says what is wrong.
        self.is_stuck = poll(&mut fds, Some(&timeout)) == Ok(0);
        !self.is_stuck
    }
}
