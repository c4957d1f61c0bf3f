//! askbox in a world with the real `claude`: questions, watchers and the launches of `claude`.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use askbox_mailbox::disk::file_events::Hints;
use serde_json::Value;

use crate::claude::ClaudeWorld;
use crate::claude::api::digest;
use crate::{LIMIT, Outcome, feed, names, until};

/// One launch of the agent by askbox.
#[derive(Debug, Clone)]
pub struct Launch {
    pub pid: i32,
    pub args: String,
    /// Its environment as it was at the launch.
    pub env: Vec<String>,
}

impl Launch {
    /// The value of one variable.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    }
}

impl ClaudeWorld {
    /// Puts a `claude` on `PATH` that writes down its launch and then is the real one.
    pub fn install_claude(&self) {
        let log = self.path("launches");
        std::fs::create_dir_all(&log).expect("a folder");
        // `exec` keeps the process, and with it what ties it to its supervisor.
        let body = format!(
            "env -0 > '{log}/.'$$; printf '%s\\n' \"$*\" > '{log}/.args'$$; mv '{log}/.'$$ '{log}/'$$.env; \
             mv '{log}/.args'$$ \"{log}/$(date +%s%N).$$\"; exec '{claude}' \"$@\"",
            log = log.display(),
            claude = self.claude_program().display()
        );
        self.add_script("claude", &body);
    }

    pub fn remove_claude(&self) {
        std::fs::remove_file(self.path("bin/claude")).expect("it was there");
    }

    /// A session that a user starts by hand, to its end, as a script of these steps.
    #[track_caller]
    pub fn user_session(&self, steps: &Value) -> Outcome {
        self.user_session_with(steps, &[])
    }

    /// The same with more variables.
    #[track_caller]
    pub fn user_session_with(&self, steps: &Value, env: &[(&str, &str)]) -> Outcome {
        let mut command = self.claude();
        command.args(super::MODE).args(["-p", "--output-format", "stream-json", "--verbose"]);
        command.args(["--allowedTools=Bash(ask-post:*)", "--allowedTools=Bash(checkpoint:*)"]);
        feed(command.envs(env.iter().copied()), format!("Do the work. @@{steps}").as_bytes()).ok()
    }

    /// Posts a question from a terminal; returns its round's id.
    #[track_caller]
    pub fn ask(&self, id: &str, args: &[&str]) -> String {
        let receipt = self.run("ask-post", &[&["--json", "-w", id], args].concat()).ok().json();
        receipt["question_id"].as_str().expect("an id").to_owned()
    }

    /// Answers the question that waits. A tool call is allowed by the command that `show` prints for copying.
    #[track_caller]
    pub fn answer(&self, id: &str, value: &str) {
        let shown = self.ok("ask-answer", &["show", id]);
        let command = format!("ask-answer {id} {value} --round ");
        let copied = shown.lines().map(str::trim).find(|line| line.starts_with(&command));
        let words: Vec<_> = copied.map_or_else(|| vec![id, value], |line| line.split(' ').skip(1).collect());
        self.ok("ask-answer", &words);
    }

    /// Starts a watcher that runs until [`ClaudeWorld::stop_watching`], and waits until it watches.
    #[track_caller]
    pub fn keep_watching(&mut self) {
        self.keep_watching_with(&[]);
    }

    /// The same where no question was asked yet.
    #[track_caller]
    pub fn keep_watching_from_the_start(&mut self) {
        self.make_mailbox();
        self.keep_watching();
    }

    /// Makes a mailbox without a question.
    pub fn make_mailbox(&self) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(self.mailbox().join("pending")).expect("a mailbox");
    }

    /// The same as [`ClaudeWorld::keep_watching`] with more variables.
    #[track_caller]
    pub fn keep_watching_with(&mut self, env: &[(&str, &str)]) {
        assert!(self.watcher.is_none(), "a watcher runs already");
        let watcher = self.start_as_watcher(self.command("relaunch").arg("watch").envs(env.iter().copied()));
        watcher.says("watching");
        self.watcher = Some(watcher);
    }

    /// Ends the watcher as a service manager does.
    #[track_caller]
    pub fn stop_watching(&mut self) {
        self.watcher.take().expect("a watcher").stop();
    }

    /// Waits until the workflow is in this state, and returns its status.
    #[track_caller]
    pub fn wait_state(&self, id: &str, state: &str) -> Value {
        self.wait_status(id, state, |status| status["state"] == state)
    }

    /// Waits until the workflow's status fits. Woken by what happens in the mailbox.
    #[track_caller]
    pub fn wait_status(&self, id: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let (ring, rings) = channel();
        let mut hints = Hints::new(move |_| {
            let _sent = ring.send(());
        })
        .expect("file events");
        // A question that was never asked has no mailbox yet.
        for folder in ["pending", "answered", "running", "parked", "closed"] {
            let _watched = hints.watch(&self.in_mailbox(folder));
        }
        let end = Instant::now() + LIMIT;
        loop {
            let status = self.status(id);
            if fits(&status) {
                return status;
            }
            assert!(Instant::now() < end, "{id} is not {what} but {status:#}\n{}", self.describe(id));
            // A lock that is let go makes no event: hence the second look.
            let _rung = rings.recv_timeout(Duration::from_millis(500));
            while rings.try_recv().is_ok() {}
        }
    }

    /// Waits until the transcript of the workflow's session holds these words, and returns the status. The agent writes its transcript a
    /// little later than it works.
    #[track_caller]
    pub fn wait_transcript(&self, id: &str, words: &str) -> Value {
        let noted = |session: &str| self.transcript_of(session).and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        self.wait_status(id, "so far in its transcript", |s| noted(s["session_id"].as_str().unwrap_or_default()).contains(words))
    }

    /// The state of the world, for a test that fails.
    pub fn describe(&self, id: &str) -> String {
        let events = self.run("relaunch", &["events", id]).stdout;
        let find = Command::new("find").arg(self.mailbox()).args(["-type", "f"]).output().expect("find");
        let found = String::from_utf8_lossy(&find.stdout);
        let mut text = events + &found + &digest(&self.api.requests());
        for line in found.lines().filter(|l| l.ends_with(".log") || l.ends_with("audit.jsonl")) {
            text += &format!("\n--- {line}\n{}", std::fs::read_to_string(line).unwrap_or_default());
        }
        text
    }

    /// The events of the workflow's newest run, all attempts.
    #[track_caller]
    pub fn events(&self, id: &str) -> Vec<Value> {
        self.run("relaunch", &["events", id]).ok().events()
    }

    /// The notes among them.
    #[track_caller]
    pub fn notes(&self, id: &str) -> Vec<String> {
        let notes = self.events(id).into_iter().filter(|e| e["type"] == "note");
        notes.filter_map(|e| e["text"].as_str().map(str::to_owned)).collect()
    }

    /// Every launch of the agent by askbox, in order.
    pub fn launches(&self) -> Vec<Launch> {
        let folder = self.path("launches");
        let launch = |name: &String| {
            let pid = name.rsplit('.').next().expect("a pid");
            let env = std::fs::read_to_string(folder.join(format!("{pid}.env"))).expect("its environment");
            Launch {
                pid: pid.parse().expect("a number"),
                args: std::fs::read_to_string(folder.join(name)).expect("its arguments").trim_end().to_owned(),
                env: env.split('\0').map(str::to_owned).collect(),
            }
        };
        names(&folder).iter().filter(|name| !name.ends_with(".env")).map(launch).collect()
    }

    /// The record of an attempt.
    #[track_caller]
    pub fn run_record(&self, id: &str, round: &str, attempt: u32) -> Value {
        self.document(&format!("runs/{id}/{round}/{attempt}/run.json"))
    }

    /// Puts a program `name` on the agent's `PATH` that waits for [`ClaudeWorld::release`].
    pub fn add_hold(&self, name: &str) {
        let fifo = self.path(format!("{name}.fifo"));
        make_fifo(&fifo);
        self.add_script(name, &format!("echo holding; : > '{0}.waits'; read line < '{0}'; echo released", fifo.display()));
    }

    /// Returns once that program waits.
    #[track_caller]
    pub fn wait_for_hold(&self, name: &str) {
        until("the program waits", || self.path(format!("{name}.fifo.waits")).exists());
    }

    /// Lets that program go on.
    #[track_caller]
    pub fn release(&self, name: &str) {
        use std::os::unix::fs::OpenOptionsExt;
        // A FIFO opens for writing at once only while a program reads from it.
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a flag");
        let fifo = self.path(format!("{name}.fifo"));
        let open = || std::fs::OpenOptions::new().write(true).custom_flags(nonblocking).open(&fifo).ok();
        until("the program reads", open).write_all(b"go\n").expect("the program reads");
    }
}

/// Makes a named pipe.
pub fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success(), "{}", path.display());
}

/// A script step: the agent's Bash runs this.
pub fn bash(command: &str) -> Value {
    serde_json::json!({"tool": "Bash", "input": {"command": command}})
}
