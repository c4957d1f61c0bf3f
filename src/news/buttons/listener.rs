//! Follows a target's topic for replies, as long as a question waits that a button can answer. Nothing runs while none does.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::config::Target;
use crate::error::{Error, IoContext, Result};
use crate::news::buttons::replies::{Heard, heard};
use crate::news::means::ntfy;
use crate::platform::ProcessHandle;
use crate::thread::Waiting;

/// The longest line of the stream, in bytes: ntfy's messages have at most 4096.
const LONGEST_LINE: u64 = 64 << 10;
/// The pauses after a stream that ended, and after one that ended again at once.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A message that is not dealt with yet. One stream has one: a topic that floods waits in its own connection, not in memory.
#[derive(Debug)]
pub(in crate::news) struct Ticket {
    _dropped: mpsc::Sender<()>,
}

/// The stream of one target.
#[derive(Debug, Default)]
pub(in crate::news) struct Listener {
    process: Option<ProcessHandle>,
    is_open: bool,
    failures: u32,
    retry_at: Option<Instant>,
}

impl Listener {
    /// When to call [`Self::open`] again.
    pub(in crate::news) fn deadline(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.is_open)
    }

    pub(in crate::news) fn may_open(&self) -> bool {
        !self.is_open && self.retry_at.is_none_or(|at| at <= Instant::now())
    }

    /// Follows the topic. `hear` is called for each message of it, `ended` once when the stream has ended.
    pub(in crate::news) fn open(
        &mut self,
        target: &Target,
        since: &str,
        hear: impl Fn(Heard, Ticket) + Send + 'static,
        ended: impl FnOnce(String) + Send + 'static,
    ) -> Result<()> {
        self.put_off();
        let call = ntfy::follow(target, since)?;
        let thread = Waiting::start()?;
        let mut child = Command::new(&call.program)
            .args(&call.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .io("run", &call.program)?;
        // It is far shorter than a pipe holds.
        let written = child.stdin.take().map(|mut input| std::io::Write::write_all(&mut input, &call.input));
        written.transpose().io("write to", &call.program)?;
        self.process = ProcessHandle::open(child.id());
        self.is_open = true;
        thread.run(move || {
            if let Some(output) = child.stdout.take() {
                read(BufReader::new(output), hear);
            }
            let _ = child.kill();
            let mut said = String::new();
            let _ = child.stderr.take().map(|errors| errors.take(2000).read_to_string(&mut said));
            let _ = child.wait();
            ended(crate::text::excerpt(said.trim(), 200));
        });
        Ok(())
    }

    /// The stream has ended. It is opened again later and later, as long as nothing comes.
    pub(in crate::news) fn ended(&mut self) {
        (self.is_open, self.process) = (false, None);
        self.put_off();
    }

    /// Something came: the stream works.
    pub(in crate::news) fn works(&mut self) {
        self.failures = 0;
    }

    fn put_off(&mut self) {
        let pause = PAUSE.saturating_mul(1 << self.failures.min(8)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.retry_at = Some(Instant::now() + pause);
    }

    /// Nothing waits for a reply any more.
    pub(in crate::news) fn close(&mut self) {
        if let Some(process) = self.process.take() {
            process.signal(rustix::process::Signal::TERM);
        }
        (self.failures, self.retry_at) = (0, None);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

fn read(mut output: impl BufRead, hear: impl Fn(Heard, Ticket)) {
    let hear = |heard| {
        let (ticket, is_done) = mpsc::channel();
        hear(heard, Ticket { _dropped: ticket });
        // Nothing is ever sent: the wait ends with the ticket.
        let _ = is_done.recv();
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.last() == Some(&b'\n') => String::from_utf8_lossy(&line).lines().filter_map(heard).for_each(hear),
            // The rest of a line that is too long is passed over: it is no button's, and would be met again from the same place on.
            Ok(_) if output.skip_until(b'\n').is_err() => return,
            Ok(_) => {}
        }
    }
}

/// The error of a stream that ended.
pub(in crate::news) fn broken(said: &str) -> Error {
    let why = if said.is_empty() { "the server ended it" } else { said };
    Error::failed(format!("the stream of replies ended: {why}"), "it is opened again; check ntfy_replies and token_file if this repeats")
}
