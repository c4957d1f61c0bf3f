//! The whole product in a temporary place: a mailbox, the programs, a watcher, and the real `claude` behind a script that
//! writes down each of its launches.

use super::api::Api;
use super::claude::{ClaudeHome, LIMIT, Outcome, run};
use askbox::disk::file_events::Hints;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A mailbox with everything around it. Dropping it ends all that was started in it.
pub struct Service {
    pub api: Api,
    pub home: ClaudeHome,
    watcher: Option<Watcher>,
}

struct Watcher {
    child: Child,
    lines: Mutex<Receiver<String>>,
}

/// One launch of the agent by askbox.
#[derive(Debug, Clone)]
pub struct Launch {
    pub pid: u32,
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

impl Service {
    #[track_caller]
    pub fn new() -> Self {
        let api = Api::start();
        let home = ClaudeHome::new(&api).with_path(programs());
        let service = Self { api, home, watcher: None };
        service.install_claude();
        service
    }

    /// Puts `claude` on the watcher's PATH.
    pub fn install_claude(&self) {
        let log = self.home.work().join("../launches");
        std::fs::create_dir_all(&log).expect("a folder");
        // `exec` keeps the process, and with it what ties it to its supervisor.
        let body = format!(
            "env -0 > '{log}/.'$$; printf '%s\\n' \"$*\" > '{log}/.args'$$; mv '{log}/.'$$ '{log}/'$$.env; \
             mv '{log}/.args'$$ \"{log}/$(date +%s%N).$$\"; exec '{claude}' \"$@\"",
            log = log.display(),
            claude = self.home.program().display()
        );
        self.home.add_script("claude", &body);
    }

    pub fn remove_claude(&self) {
        std::fs::remove_file(self.home.bin().join("claude")).expect("it was there");
    }

    /// Writes the operator's configuration.
    pub fn configure(&self, toml: &str) {
        let folder = self.home.home().join(".config/askbox");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config.toml"), toml).expect("a file");
    }

    /// The default mailbox of this home.
    pub fn mailbox(&self) -> PathBuf {
        self.home.home().join(".claude/questions")
    }

    /// One of the programs, as somebody at this home would call it.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(programs().join(name));
        // The programs themselves are not on PATH here: a run must find them all the same.
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.home.bin().display());
        command.env_clear().envs(self.home.env()).env("PATH", path).env("USER", "tester").current_dir(self.home.work());
        command
    }

    #[track_caller]
    pub fn call(&self, name: &str, args: &[&str]) -> Outcome {
        self.call_with(name, args, b"")
    }

    #[track_caller]
    pub fn call_with(&self, name: &str, args: &[&str], input: &[u8]) -> Outcome {
        let mut command = self.program(name);
        command.args(args);
        run(command, input, LIMIT)
    }

    /// A session that a user starts by hand, to its end, as a script of these steps.
    #[track_caller]
    pub fn user_session(&self, steps: &Value) -> Outcome {
        self.user_session_with(steps, &[])
    }

    #[track_caller]
    pub fn user_session_with(&self, steps: &Value, env: &[(&str, &str)]) -> Outcome {
        let mut command = self.home.command();
        command.args(["-p", "--output-format", "stream-json", "--verbose"]);
        command.args(["--allowedTools=Bash(ask-post:*)", "--allowedTools=Bash(checkpoint:*)"]);
        command.envs(env.iter().copied());
        run(command, format!("Do the work. @@{steps}").as_bytes(), LIMIT).ok()
    }

    /// Posts a question from a terminal; returns its round's id.
    #[track_caller]
    pub fn ask(&self, id: &str, args: &[&str]) -> String {
        let outcome = self.call("ask-post", &[&["--json", "-w", id], args].concat()).ok();
        let receipt: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        receipt["question_id"].as_str().expect("an id").to_owned()
    }

    #[track_caller]
    pub fn answer(&self, id: &str, value: &str) {
        self.call("ask-answer", &[id, value]).ok();
    }

    /// Starts `relaunch watch`; returns once it watches.
    #[track_caller]
    pub fn watch(&mut self) {
        self.watch_with(&[]);
    }

    /// The same where no question was asked yet.
    #[track_caller]
    pub fn watch_on_nothing(&mut self) {
        std::fs::create_dir_all(self.mailbox()).expect("a folder");
        std::fs::set_permissions(self.mailbox(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("its mode");
        self.watch();
    }

    #[track_caller]
    pub fn watch_with(&mut self, env: &[(&str, &str)]) {
        assert!(self.watcher.is_none(), "a watcher runs already");
        let mut command = self.program("relaunch");
        command.arg("watch").envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("relaunch starts");
        let stderr = child.stderr.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // Nobody listens any more when the test is over.
                let _sent = sender.send(line);
            }
        });
        self.watcher = Some(Watcher { child, lines: Mutex::new(lines) });
        self.wait_line("watching");
    }

    /// Waits until the watcher says a line with these words, and returns it.
    #[track_caller]
    pub fn wait_line(&self, words: &str) -> String {
        let lines = self.watcher.as_ref().expect("a watcher").lines.lock().expect("no panic");
        let end = Instant::now() + LIMIT;
        let mut seen = Vec::new();
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => seen.push(line),
                Err(e) => panic!("the watcher did not say {words:?} ({e}); it said {seen:#?}"),
            }
        }
    }

    /// Ends the watcher as systemd would.
    #[track_caller]
    pub fn stop_watching(&mut self) {
        let mut watcher = self.watcher.take().expect("a watcher");
        signal(watcher.child.id(), "TERM");
        assert!(watcher.child.wait().expect("its status").success());
    }

    /// `relaunch status ID --json`; null where nothing is known of it.
    #[track_caller]
    pub fn status(&self, id: &str) -> Value {
        let outcome = self.call("relaunch", &["status", "--json", id]);
        match outcome.status.code() {
            Some(0) => serde_json::from_str(&outcome.stdout).expect("JSON"),
            Some(3) => Value::Null,
            _ => panic!("{outcome:?}"),
        }
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
        let folders = ["pending", "answered", "running", "parked", "closed"];
        // A question that was never asked has no mailbox yet.
        let watched: Vec<bool> = folders.iter().map(|folder| hints.watch(&self.mailbox().join(folder)).is_ok()).collect();
        let end = Instant::now() + LIMIT;
        loop {
            let status = self.status(id);
            if fits(&status) {
                return status;
            }
            assert!(Instant::now() < end, "{id} is not {what} but {status:#}\n{}\n{watched:?}", self.describe(id));
            // A lock that is let go makes no event: hence the second look.
            let _rung = rings.recv_timeout(Duration::from_millis(500));
            while rings.try_recv().is_ok() {}
        }
    }

    /// What there is to see when a test fails.
    pub fn describe(&self, id: &str) -> String {
        let events = self.call("relaunch", &["events", id]).stdout;
        let find = Command::new("find").arg(self.mailbox()).args(["-type", "f"]).output().expect("find");
        let mut text = events + &String::from_utf8_lossy(&find.stdout) + &super::api::digest(&self.api.requests());
        for line in String::from_utf8_lossy(&find.stdout).lines().filter(|l| l.ends_with(".log") || l.ends_with("audit.jsonl")) {
            text += &format!("\n--- {line}\n{}", std::fs::read_to_string(line).unwrap_or_default());
        }
        text
    }

    /// The events of the workflow's newest run, all attempts.
    #[track_caller]
    pub fn events(&self, id: &str) -> Vec<Value> {
        self.call("relaunch", &["events", id]).ok().events()
    }

    /// The notes among them.
    #[track_caller]
    pub fn notes(&self, id: &str) -> Vec<String> {
        let notes = self.events(id).into_iter().filter(|e| e["type"] == "note");
        notes.filter_map(|e| e["text"].as_str().map(str::to_owned)).collect()
    }

    /// Every launch of the agent by askbox, in order.
    pub fn launches(&self) -> Vec<Launch> {
        let folder = self.home.work().join("../launches");
        let mut names: Vec<String> = names(&folder).into_iter().filter(|n| !n.ends_with(".env") && !n.starts_with('.')).collect();
        names.sort();
        let launch = |name: &String| {
            let pid = name.rsplit('.').next().expect("a pid");
            let env = std::fs::read_to_string(folder.join(format!("{pid}.env"))).expect("its environment");
            Launch {
                pid: pid.parse().expect("a number"),
                args: std::fs::read_to_string(folder.join(name)).expect("its arguments").trim_end().to_owned(),
                env: env.split('\0').map(str::to_owned).collect(),
            }
        };
        names.iter().map(launch).collect()
    }

    /// The names in one of the mailbox's folders.
    pub fn files(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = names(&self.mailbox().join(folder)).into_iter().filter(|n| !n.starts_with('.')).collect();
        names.sort();
        names
    }

    /// A document of the mailbox.
    #[track_caller]
    pub fn document(&self, path: &str) -> Value {
        let path = self.mailbox().join(path);
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The record of an attempt.
    #[track_caller]
    pub fn run_record(&self, id: &str, round: &str, attempt: u32) -> Value {
        self.document(&format!("runs/{id}/{round}/{attempt}/run.json"))
    }

    /// Puts a program `NAME` on the agent's PATH that waits for [`Service::release`].
    pub fn add_hold(&self, name: &str) {
        let fifo = self.home.work().join(format!("../{name}.fifo"));
        assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
        self.home.add_script(name, &format!("echo holding; read line < '{}'; echo released", fifo.display()));
    }

    /// Lets it go. Returns once it has read.
    pub fn release(&self, name: &str) {
        let fifo = self.home.work().join(format!("../{name}.fifo"));
        std::fs::write(fifo, "go\n").expect("somebody reads");
    }

    /// Processes of this home whose command line contains `words`.
    pub fn processes(&self, words: &str) -> Vec<u32> {
        let home = self.home.home().display().to_string();
        let pids = names(Path::new("/proc")).into_iter().filter_map(|n| n.parse::<u32>().ok());
        let ours = |pid: &u32| {
            let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let contains = |bytes: &[u8], part: &str| String::from_utf8_lossy(bytes).replace('\0', " ").contains(part);
            contains(&read("environ"), &format!("HOME={home}")) && contains(&read("cmdline"), words)
        };
        pids.filter(ours).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(watcher) = &mut self.watcher {
            super::claude::end_process(&mut watcher.child);
        }
        // Only what runs in this test's own temporary home.
        for _ in 0..3 {
            self.processes("").into_iter().for_each(|pid| signal(pid, "KILL"));
        }
    }
}

/// Sends a signal to a process that the test has found to be its own.
pub fn signal(pid: u32, name: &str) {
    let _sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Whether a process lives; a zombie does not.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_relaunch")).parent().expect("a folder").to_path_buf()
}

/// A script step: the agent's Bash runs this.
pub fn bash(command: &str) -> Value {
    serde_json::json!({"tool": "Bash", "input": {"command": command}})
}
