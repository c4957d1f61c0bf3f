//! A `claude` that is talked to while it runs: stream-json both ways, with us as its permission host.

use crate::claude::ClaudeWorld;
use crate::process::end_process;
use crate::{LIMIT, Outcome};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The arguments that a supervisor passes before anything of its own, except `--include-partial-messages`.
pub const FLAGS: [&str; 10] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--permission-mode",
    "default",
];

/// A running agent. Dropping it kills it, should it still run.
pub struct Live {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    stderr: Option<JoinHandle<String>>,
    /// All events so far, in order.
    pub events: Vec<Value>,
    /// How far `expect` has looked.
    seen: usize,
}

impl Live {
    /// Starts `claude` with `FLAGS` and `args` in the world's work folder.
    #[track_caller]
    pub fn start(world: &ClaudeWorld, args: &[&str]) -> Self {
        let mut command = world.claude();
        command.args(FLAGS).args(args);
        Self::spawn(command)
    }

    /// Starts any command that speaks stream-json on stdin and stdout.
    #[track_caller]
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = read_events(child.stdout.take().expect("piped"));
        let mut stderr = child.stderr.take().expect("piped");
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _read = stderr.read_to_string(&mut text);
            text
        });
        Self { stdin: child.stdin.take(), child, lines, stderr: Some(stderr), events: Vec::new(), seen: 0 }
    }

    /// Process id of the command that was started.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    /// Writes one line to the agent.
    #[track_caller]
    pub fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        writeln!(stdin, "{line}").expect("the agent reads");
    }

    /// Sends a user message under an id of our own.
    #[track_caller]
    pub fn say(&mut self, uuid: &str, text: &str) {
        self.send(&json!({"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}));
    }

    /// Answers a `can_use_tool` request.
    #[track_caller]
    pub fn permit(&mut self, request: &Value, response: &Value) {
        let reply = json!({"subtype": "success", "request_id": request["request_id"], "response": response});
        self.send(&json!({"type": "control_response", "response": reply}));
    }

    /// Waits for the next event that fits, looking on from where the last `expect` ended.
    #[track_caller]
    pub fn expect(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            while let Some(event) = self.events.get(self.seen) {
                self.seen += 1;
                if fits(event) {
                    return event.clone();
                }
            }
            if let Err(why) = self.take(end) {
                let events = self.summary();
                panic!("no {what} came ({why}); the events were {events:#?}");
            }
        }
    }

    /// Waits for the next event of a type.
    #[track_caller]
    pub fn expect_type(&mut self, kind: &str) -> Value {
        self.expect(kind, |event| event["type"] == kind)
    }

    /// Says that no more messages come: the agent ends after what it has.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Sends SIGKILL to the command that was started, and to nothing else.
    pub fn kill(&mut self) {
        end_process(&mut self.child);
    }

    /// Closes stdin and waits until the command, and all that hold its stdout, have ended.
    #[track_caller]
    pub fn finish(mut self) -> (Outcome, Vec<Value>) {
        self.close();
        self.wait_end()
    }

    /// The same, with stdin left open: for an agent that is to end for another reason.
    #[track_caller]
    pub fn wait_end(mut self) -> (Outcome, Vec<Value>) {
        let end = Instant::now() + LIMIT;
        let why = loop {
            if let Err(why) = self.take(end) {
                break why;
            }
        };
        let events = std::mem::take(&mut self.events);
        assert!(why == RecvTimeoutError::Disconnected, "waited in vain: still running after {LIMIT:?}: {events:#?}");
        let status = self.child.wait().expect("an exit status");
        let stderr = self.stderr.take().expect("taken once").join().expect("it");
        let outcome = Outcome { status, stdout: String::new(), stderr };
        (outcome, events)
    }

    /// The kinds of all events so far, for comparing sequences.
    pub fn summary(&self) -> Vec<String> {
        self.events.iter().map(kind).collect()
    }

    fn take(&mut self, end: Instant) -> Result<(), RecvTimeoutError> {
        let left = end.saturating_duration_since(Instant::now());
        let event = self.lines.recv_timeout(left.max(Duration::from_millis(1)))?;
        self.events.push(event);
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        end_process(&mut self.child);
    }
}

/// An event in a few words: `system/init`, `command_lifecycle/started`, `result/success/completed`.
pub fn kind(event: &Value) -> String {
    let details = ["type", "subtype", "state", "terminal_reason"];
    let words: Vec<&str> = details.iter().filter_map(|key| event[key].as_str()).collect();
    words.join("/")
}

fn read_events(stdout: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { break };
            let event = serde_json::from_str(&line).unwrap_or_else(|_| json!({"not_json": line}));
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    receiver
}
