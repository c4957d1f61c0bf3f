//! What the fault tests share: a mailbox of their own with a scripted agent, strace, and looks at what a crash left.
//! Each test file uses its own part of it.

use crate::support::program;
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take before the test gives up on it.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The folders whose visible names are documents.
pub const DOCUMENTS: [&str; 8] = ["pending", "answered", "running", "parked", "closed", "checkpoints", "workflows", "runs"];

/// The scripted agent: speaks `claude`'s stream-json, keeps a transcript, and remembers as `claude` does which messages its
/// session has had. `$AGENT_DIR/log` gets one line a deed; `violation` where two agents of one round live at once.
const AGENT: &str = include_str!("agents/stepping.sh");

/// A mailbox, its configuration and its agent, in a folder of their own.
pub struct Place {
    pub root: PathBuf,
    _folder: tempfile::TempDir,
}

impl Place {
    /// With the agent that works, in memory where the system has such a folder: a kill does not care about the disk.
    pub fn new() -> Self {
        Self::with("work")
    }

    /// `body`: what the agent does between the receipt and its end, in sh; see `agents/stepping.sh`.
    pub fn with(body: &str) -> Self {
        let memory = Path::new("/dev/shm");
        Self::within(if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() }, body)
    }

    pub fn within(folder: PathBuf, body: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("askbox-faults").tempdir_in(folder).expect("a folder for the test");
        let place = Self { root: folder.path().canonicalize().expect("it exists"), _folder: folder };
        std::fs::create_dir_all(place.root.join("agent/claude/projects/p")).expect("agent's folder");
        // A shell reads its script while it runs it: written once, before anybody runs it.
        let script = place.root.join("agent/agent.sh");
        program::write(&script, &format!("{AGENT}\n{body}\nfinish\n"));
        place.configure("");
        place
    }

    /// Writes the configuration: quick retries, and `more` TOML.
    pub fn configure(&self, more: &str) {
        let script = self.root.join("agent/agent.sh");
        let toml = format!(
            "[relaunch]\nmax_concurrent = 8\nbackoff = \"50ms\"\nbackoff_max = \"500ms\"\n{more}\n\
             [runner]\ndefault = \"fake\"\n[runner.fake]\nprogram = \"{}\"\nenv = {{ AGENT_DIR = \"{}\" }}\n",
            script.display(),
            self.root.join("agent").display()
        );
        std::fs::write(self.root.join("config.toml"), toml).expect("configuration");
    }

    pub fn mailbox(&self) -> PathBuf {
        self.root.join("m")
    }

    pub fn agent(&self, name: &str) -> PathBuf {
        self.root.join("agent").join(name)
    }

    /// Makes the mailbox itself, as an installer might.
    pub fn make_mailbox(&self) {
        std::fs::DirBuilder::new().mode(0o700).create(self.mailbox()).expect("mailbox");
        self.ok("ask-post", &["-w", "first", "?"]);
        self.ok("ask-answer", &["cancel", "first"]);
    }

    /// The lines of the agents' log.
    pub fn log(&self) -> Vec<String> {
        std::fs::read_to_string(self.agent("log")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Lines of the agents' log that begin with these words.
    pub fn logged(&self, words: &str) -> usize {
        self.log().iter().filter(|l| l.starts_with(words)).count()
    }

    /// A program of ours with nothing in its environment but what it needs.
    pub fn command(&self, program: &str) -> Command {
        self.wrapped(&[], program)
    }

    /// The same behind another program and its arguments.
    pub fn wrapped(&self, before: &[String], program: &str) -> Command {
        let path = program_path(program);
        let mut command = match before.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(path);
                command
            }
            None => Command::new(path),
        };
        command.env_clear().current_dir(&self.root).stdin(Stdio::null()).process_group(0);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", &self.root).env("USER", "ann");
        command.env("ASKBOX_DIR", self.mailbox()).env("ASKBOX_CONFIG", self.root.join("config.toml"));
        command.env("CLAUDE_CONFIG_DIR", self.root.join("agent/claude"));
        command
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &str, args: &[&str]) -> Output {
        output(self.command(program).args(args))
    }

    /// Runs a program that must succeed; returns what it printed.
    #[track_caller]
    pub fn ok(&self, program: &str, args: &[&str]) -> String {
        let out = self.run(program, args);
        assert!(out.status.success(), "{program} {args:?}: {}\n{}", out.status, words(&out));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// The only message that the agents were told.
    pub fn only_told(&self) -> String {
        let mut told = names(&self.root.join("agent")).into_iter().filter(|n| n.starts_with("told."));
        let first = told.next().expect("a message");
        assert_eq!(told.next(), None, "there were two");
        std::fs::read_to_string(self.agent(&first)).expect("it is read")
    }

    /// Where a workflow stands, in a word.
    pub fn state(&self, workflow: &str) -> String {
        let out = self.run("relaunch", &["status", workflow, "--json"]);
        let json: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        json["state"].as_str().unwrap_or_default().to_owned()
    }

    /// The only visible name in a folder that begins with `prefix`.
    pub fn only(&self, folder: &str, prefix: &str) -> Option<PathBuf> {
        let mut found = names(&self.mailbox().join(folder)).into_iter().filter(|n| n.starts_with(prefix));
        let first = found.next()?;
        assert_eq!(found.next(), None, "two names in {folder}/ begin with {prefix}");
        Some(self.mailbox().join(folder).join(first))
    }

    /// The id of a workflow's only round, wherever it lies.
    pub fn round(&self, workflow: &str) -> String {
        for folder in ["pending", "answered"] {
            if let Ok(bytes) = std::fs::read(self.mailbox().join(folder).join(format!("{workflow}.json"))) {
                let json: Value = serde_json::from_slice(&bytes).expect("a document is JSON");
                return json["question_id"].as_str().expect("a question_id").to_owned();
            }
        }
        panic!("no round of {workflow}");
    }

    /// Starts a watcher.
    pub fn watcher(&self) -> Running {
        self.watcher_behind(&[])
    }

    /// Starts a watcher behind strace.
    pub fn watcher_behind(&self, before: &[String]) -> Running {
        let log = std::fs::File::options().create(true).append(true).open(self.root.join("watcher.log")).expect("watcher.log");
        let mut command = self.wrapped(before, "relaunch");
        Running(command.arg("watch").stdout(Stdio::null()).stderr(log).spawn().expect("watcher"))
    }

    /// Every document parses; temporary names are no documents.
    #[track_caller]
    pub fn assert_whole(&self, when: &str) {
        for folder in DOCUMENTS {
            for (path, bytes) in files(&self.mailbox().join(folder)) {
                if path.extension().is_some_and(|e| e == "json") && !is_hidden(&path) {
                    let parsed = serde_json::from_slice::<Value>(&bytes);
                    assert!(parsed.is_ok(), "{when}: {} is torn: {:?}", path.display(), String::from_utf8_lossy(&bytes));
                }
            }
        }
    }

    /// No process of a run on this mailbox lives.
    pub fn orphans(&self) -> Vec<(i32, String)> {
        let ours = format!("ASKBOX_DIR={}", self.mailbox().display());
        processes().into_iter().filter(|(_, env)| env.contains("ASKBOX_RUN=") && env.contains(&ours)).collect()
    }

    /// Kills what a failed test may leave behind; by pid, and only what carries this mailbox.
    fn clean_up(&self) {
        let ours = format!("ASKBOX_DIR={}", self.mailbox().display());
        for _ in 0..20 {
            let left: Vec<_> = processes().into_iter().filter(|(pid, env)| env.contains(&ours) && *pid != own_pid()).collect();
            left.iter().for_each(|(pid, _)| signal(*pid));
            if left.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.root.join("watcher.log")).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(20).collect();
            eprintln!(
                "watcher's last words, newest first: {tail:#?}\nagents' log: {:#?}",
                self.log().iter().rev().take(20).collect::<Vec<_>>()
            );
        }
        self.clean_up();
    }
}

/// A process that dies with the test.
pub struct Running(pub Child);

impl Running {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).expect("a pid")
    }

    /// SIGKILL, now.
    pub fn kill(mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn program_path(program: &str) -> &'static str {
    match program {
        "ask-post" => env!("CARGO_BIN_EXE_ask-post"),
        "ask-answer" => env!("CARGO_BIN_EXE_ask-answer"),
        "checkpoint" => env!("CARGO_BIN_EXE_checkpoint"),
        "relaunch" => env!("CARGO_BIN_EXE_relaunch"),
        #[cfg(feature = "askbox")]
        "askbox" => env!("CARGO_BIN_EXE_askbox"),
        other => panic!("no program {other}"),
    }
}

/// Runs a command to its end, which must come within the limit.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    let shown = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap_or_else(|e| panic!("{shown}: {e}"));
    let (mut out, mut err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let reader = |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    };
    std::thread::scope(|scope| {
        let stdout = scope.spawn(move || reader(&mut out));
        let stderr = scope.spawn(move || reader(&mut err));
        let deadline = Instant::now() + LIMIT;
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match child.try_wait().expect("wait") {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    let _ = child.kill();
                    panic!("{shown} did not end");
                }
                None => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        Output { status, stdout: stdout.join().expect("stdout"), stderr: stderr.join().expect("stderr") }
    })
}

pub fn words(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// strace and its arguments; fails plainly where there is none.
pub fn strace(args: &[&str]) -> Vec<String> {
    let there = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    assert!(there, "this test needs strace: install it, or run tests/run, which does");
    std::iter::once("strace").chain(args.iter().copied()).map(str::to_owned).collect()
}

/// Does `work` for every item on some threads; panics are passed on.
pub fn in_parallel<T: Sync>(threads: usize, items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if failed.lock().is_ok_and(|f| f.is_some()) {
                        return;
                    }
                    if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(item)))
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed = Some(panic);
                    }
                }
            });
        }
    });
    if let Ok(Some(panic)) = failed.into_inner() {
        std::panic::resume_unwind(panic);
    }
}

pub fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'))
}

/// The visible names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| !n.starts_with('.')).collect()
}

/// Every regular file below a folder and its content; a pipe would hold its reader up.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file()
            && let Ok(bytes) = std::fs::read(&path)
        {
            found.insert(path, bytes);
        }
    }
    found
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).expect("a pid")
}

/// Every process and its environment.
pub fn processes() -> Vec<(i32, String)> {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some((pid, String::from_utf8_lossy(&bytes).replace('\0', "\n")))
    })
    .collect()
}

/// SIGKILL to one process that the test knows to be its own, and its end: a busy machine may let a killed process live for a
/// while, and what it would have done in that time is not what the test is about. Whoever is to die with it has its signal then.
pub fn kill(pid: i32) {
    signal(pid);
    until(&format!("the killed process {pid} is gone"), || !lives(pid));
}

/// Whether any thread of a process still runs. The dead that nobody has asked for yet do not.
fn lives(pid: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|t| std::fs::read_to_string(t.path().join("stat")).ok()).any(|stat| {
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, Some('Z' | 'X') | None)
    })
}

fn signal(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
