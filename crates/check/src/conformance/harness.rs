//! A process of the implementation that is checked. It gets one JSON object a line, and answers each with one JSON object.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::Value;

use crate::conformance::verdict::{Stop, Verdict, violated};
use askbox_mailbox::{Error, IoContext, Result, thread};

/// The longest line of a reply.
const LONGEST: u64 = 80 << 20;

/// How long killed children may take to die.
const LONGEST_DEATH: Duration = Duration::from_secs(5);

/// Variables that name a mailbox or a run. A request names its mailbox itself.
const OF_ASKBOX: [&str; 8] = [
    "ASKBOX_DIR", "ASKBOX_RUN", "ASKBOX_NONCE", "ASKBOX_ROUND", "ASKBOX_SESSION_ID", "ASKBOX_WORKFLOW_ID", "WORKFLOW_ID",
    "CLAUDE_CODE_SESSION_ID",
];

/// Why an implementation refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The disk or the system.
    Failed,
    /// Wrong arguments.
    Usage,
    /// There is no such mailbox, question, round or checkpoint.
    NotFound,
    /// Somebody was first, or the question is not the one that was meant.
    Conflict,
    /// A document, a value or an id is not valid.
    Invalid,
}

/// A reply.
#[derive(Debug)]
pub enum HarnessReply {
    /// The operation took place.
    Done(Value),
    /// The operation was refused, with the implementation's words.
    Refused(Kind, String),
}

impl HarnessReply {
    /// The reply to a request that must take place.
    pub fn done(self, request: &Value) -> Verdict<Value> {
        match self {
            Self::Done(reply) => Ok(reply),
            Self::Refused(kind, message) => violated(format!("{} is refused ({kind:?}): {message}", shortened(request))),
        }
    }
}

/// A running process of the implementation. It is killed with its children when it is dropped.
pub struct Harness {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// The operation of the newest request.
    asked: String,
    /// How long one request may take.
    limit: Duration,
    /// The pipe of the replies, as the system names it: `pipe:[123]`.
    pub pipe: String,
}

impl Harness {
    /// Starts the command, with the words of `before` in front of it.
    ///
    /// # Errors
    /// [`Error::Failed`] if the command cannot be started.
    pub fn start(before: &[String], words: &[String], limit: Duration) -> Result<Self> {
        let mut all = before.iter().chain(words);
        let name = all.next().cloned().unwrap_or_default();
        let mut command = Command::new(&name);
        for name in OF_ASKBOX {
            command.env_remove(name);
        }
        command.args(all).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|e| {
            Error::failed(format!("cannot start {name}: {e}"), "name the command of the harness behind `--`, with its arguments")
        })?;
        let out = child.stdout.take().ok_or_else(|| Error::failed("the command has no standard output", "try again"))?;
        let pipe = rustix::fs::fstat(&out).map(|pipe| format!("pipe:[{}]", pipe.st_ino)).unwrap_or_default();
        let (sender, lines) = channel();
        let mut reader = BufReader::new(out);
        thread::start(move || {
            loop {
                let mut line = Vec::new();
                match reader.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                    Ok(_) if line.ends_with(b"\n") => {}
                    _ => return,
                }
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { stdin: child.stdin.take(), child, lines, asked: String::new(), limit, pipe })
    }

    /// Sends a request. A process that has ended is noticed when its reply is read.
    pub fn send(&mut self, request: &Value) {
        self.asked = request["do"].as_str().unwrap_or_default().to_owned();
        let Some(stdin) = &mut self.stdin else { return };
        let _ended = stdin.write_all(format!("{request}\n").as_bytes()).and_then(|()| stdin.flush());
    }

    /// Waits for a reply. `None` if there is none within this time, or the process has ended. A check that asks for an operation that the
    /// implementation does not have is skipped.
    pub fn receive(&mut self, limit: Duration) -> Verdict<Option<HarnessReply>> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => read(&line, &self.asked).map(Some),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// Sends a request, and returns its reply.
    pub fn ask(&mut self, request: &Value) -> Verdict<HarnessReply> {
        self.send(request);
        match self.receive(self.limit)? {
            Some(reply) => Ok(reply),
            None if self.lines.try_recv() == Err(TryRecvError::Disconnected) => {
                violated(format!("the process ended before it replied to {}", shortened(request)))
            }
            None => violated(format!("no reply within {} s to {}", self.limit.as_secs(), shortened(request))),
        }
    }

    /// True if the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Closes standard input, and waits for the end of the process.
    ///
    /// # Errors
    /// [`Error::Io`] if the system does not tell how the process ended.
    pub fn end(mut self) -> Result<()> {
        self.stdin = None;
        // The reader ends with the last process that has the pipe open.
        while self.lines.recv_timeout(self.limit).is_ok() {}
        if !self.has_ended() {
            self.kill();
        }
        self.child.wait().io("wait for", "the implementation").map(|_| ())
    }

    /// Sends SIGKILL to the process and its children.
    pub fn kill(&mut self) {
        // A process that was waited for may have given its number away. Its children keep the group's number, if there are any.
        if let Some(group) = self.group() {
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }

    /// Waits until the killed children are gone: one that is in a system call ends it first, and so may still change the mailbox. A dead
    /// child that nobody reaps counts as one that is there, so the wait has an end.
    fn await_children(&self) {
        let end = Instant::now() + LONGEST_DEATH;
        while self.group().is_some_and(|group| test_kill_process_group(group).is_ok()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.kill();
        let _reaped = self.child.wait();
        self.await_children();
    }
}

fn read(line: &str, asked: &str) -> Verdict<HarnessReply> {
    let reply: Value = match serde_json::from_str(line) {
        Ok(reply @ Value::Object(_)) => reply,
        _ => return violated(format!("a reply is not one JSON object in one line: {}", excerpt(line))),
    };
    if reply["unsupported"] == true {
        return Err(Stop::Skipped(format!("the implementation has no `{asked}` of this kind")));
    }
    if reply["error"].is_null() {
        return Ok(HarnessReply::Done(reply));
    }
    let Ok(kind) = serde_json::from_value(reply["error"].clone()) else {
        return violated(format!("a reply has another `error` than the kinds of docs/dev/conformance.md: {}", excerpt(line)));
    };
    Ok(HarnessReply::Refused(kind, reply["message"].as_str().unwrap_or_default().to_owned()))
}

/// A request in words: its operation, its workflow and its value.
pub fn shortened(request: &Value) -> String {
    let mut short = request.clone();
    if let Some(fields) = short.as_object_mut() {
        fields.remove("mailbox");
    }
    excerpt(&short.to_string())
}

/// The beginning of a text.
pub fn excerpt(text: &str) -> String {
    askbox_mailbox::text::excerpt(text.trim_end(), 200)
}
