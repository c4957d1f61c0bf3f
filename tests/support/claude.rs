//! The real `claude`, run as a user would, in an environment that holds nothing of the tester's own.

use super::api::Api;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Far more than any step of a test needs; a test that reaches it hangs.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Where the pinned binary is.
pub struct Claude;

impl Claude {
    /// The path that `tests/run` puts into `ASKBOX_TEST_CLAUDE`.
    ///
    /// # Errors
    /// When the variable is missing or names no file: then the tests must fail, never pass by doing nothing.
    pub fn locate() -> Result<PathBuf, String> {
        let how = "run the tests with `tests/run`, which fetches the pinned `claude` and sets ASKBOX_TEST_CLAUDE";
        let Some(path) = std::env::var_os("ASKBOX_TEST_CLAUDE").map(PathBuf::from) else {
            return Err(format!("ASKBOX_TEST_CLAUDE is not set: {how}"));
        };
        if path.is_file() {
            Ok(path)
        } else {
            let path = path.display();
            Err(format!("ASKBOX_TEST_CLAUDE names {path}, which is no file: {how}"))
        }
    }
}

/// A temporary home for `claude`, tied to one scripted API.
pub struct ClaudeHome {
    root: TempDir,
    program: PathBuf,
    url: String,
    path: Vec<PathBuf>,
}

impl ClaudeHome {
    /// Panics, saying what to do, when there is no `claude` to test with.
    #[track_caller]
    pub fn new(api: &Api) -> Self {
        let program = match Claude::locate() {
            Ok(program) => program,
            Err(what) => panic!("{what}"),
        };
        let root = TempDir::with_prefix("askbox-test-").expect("a temporary folder");
        for folder in ["home", "config", "work", "bin", "tmp"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder in it");
        }
        let path = vec![root.path().join("bin")];
        let url = api.url();
        Self { root, program, url, path }
    }

    /// Puts a folder of programs behind `bin()` on the agent's PATH.
    pub fn with_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.path.push(folder.into());
        self
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub fn config(&self) -> PathBuf {
        self.root.path().join("config")
    }

    /// An empty folder to run in.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The first folder on the agent's PATH.
    pub fn bin(&self) -> PathBuf {
        self.root.path().join("bin")
    }

    /// Puts a shell script on the agent's PATH.
    pub fn add_script(&self, name: &str, body: &str) {
        let path = self.bin().join(name);
        crate::support::program::write(&path, &format!("#!/bin/sh\n{body}\n"));
    }

    /// The complete environment: to be set after wiping the tester's own.
    pub fn env(&self) -> Vec<(String, String)> {
        let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let own = self.path.iter().map(|folder| text(folder));
        let path: Vec<String> = own.chain([system.to_owned()]).collect();
        let mut env = vec![
            ("HOME".to_owned(), text(&self.home())),
            ("CLAUDE_CONFIG_DIR".to_owned(), text(&self.config())),
            ("TMPDIR".to_owned(), text(&self.root.path().join("tmp"))),
            ("PATH".to_owned(), path.join(":")),
            ("ANTHROPIC_BASE_URL".to_owned(), self.url.clone()),
            ("ANTHROPIC_API_KEY".to_owned(), "dummy".to_owned()),
        ];
        let quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"];
        env.extend(quiet.map(|name| (name.to_owned(), "1".to_owned())));
        if is_root() {
            // Otherwise `claude` refuses some permission modes to root.
            env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
        }
        env
    }

    /// `claude` with the wiped environment, in `work()`, without arguments yet.
    pub fn command(&self) -> Command {
        self.command_through(&[])
    }

    /// The same behind a wrapper such as `["setpriv", "--pdeathsig", "TERM"]`.
    pub fn command_through(&self, wrapper: &[&str]) -> Command {
        let mut command = match wrapper {
            [] => Command::new(&self.program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.program);
                command
            }
        };
        command.env_clear().envs(self.env()).current_dir(self.work());
        command
    }

    /// `claude -p` with the prompt on stdin, as a user's script would call it, to its end.
    #[track_caller]
    pub fn ask(&self, prompt: &str, args: &[&str]) -> Outcome {
        let mut command = self.command();
        command.arg("-p").args(args);
        run(command, prompt.as_bytes(), LIMIT)
    }

    /// `ask` with the stream of events as output.
    #[track_caller]
    pub fn ask_stream(&self, prompt: &str, args: &[&str]) -> Outcome {
        let stream = ["--output-format", "stream-json", "--verbose"];
        self.ask(prompt, &[&stream, args].concat())
    }

    /// The transcript of a session, if it has begun.
    pub fn transcript(&self, session: &str) -> Option<PathBuf> {
        let projects = std::fs::read_dir(self.config().join("projects")).ok()?;
        projects.filter_map(Result::ok).map(|project| project.path().join(format!("{session}.jsonl"))).find(|path| path.is_file())
    }
}

/// How a process ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// The lines of stdout as JSON, for `stream-json`.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}; {self:?}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The last `result` event.
    #[track_caller]
    pub fn result(&self) -> Value {
        let events = self.events();
        let last = events.into_iter().rev().find(|event| event["type"] == "result");
        last.unwrap_or_else(|| panic!("no result event: {self:?}"))
    }

    /// Itself, after a check that the exit code was 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.status.success(), "{self:?}");
        self
    }
}

/// Runs a command to its end with `input` on stdin; panics, after killing it, when that takes longer than `limit`.
#[track_caller]
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> Outcome {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let end = Instant::now() + limit;
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // A program need not read its input; then the write fails and that is all right.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    let mut take = |pipe: mpsc::Receiver<Vec<u8>>| {
        let left = end.saturating_duration_since(Instant::now());
        pipe.recv_timeout(left).unwrap_or_else(|_late| {
            end_process(&mut child);
            panic!("still running after {limit:?}: {command:?}")
        })
    };
    let (stdout, stderr) = (lossy(take(stdout)), lossy(take(stderr)));
    let status = child.wait().expect("an exit status");
    writer.join().expect("the writer");
    Outcome { status, stdout, stderr }
}

/// Kills and reaps a child; it may have ended by itself.
pub fn end_process(child: &mut Child) {
    let _killed = child.kill();
    let _reaped = child.wait();
}

fn collect(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _read = pipe.read_to_end(&mut bytes);
        // Nobody listens any more when the test has failed.
        let _sent = sender.send(bytes);
    });
    receiver
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text(path: &Path) -> String {
    path.to_str().expect("a UTF-8 path").to_owned()
}

/// Whether the tests run as root: the owner of `/proc/self` is the effective user.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

/// A fresh random UUID, as session and message ids must be.
pub fn uuid() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/uuid").expect("a random uuid");
    text.trim().to_owned()
}
