//! A home folder of its own with a mailbox, a fake agent and real watchers, for tests that play the strangers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long anything may take before a test gives up. Generous: the machine may be busy.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Looks again and again until `look` finds something.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A temporary `$HOME`, whose `~/.claude/questions` is the mailbox.
pub struct Home {
    folder: tempfile::TempDir,
    /// Workflow ids of this home hold it, so that files under the real /tmp never collide.
    pub tag: String,
}

impl Home {
    /// A home without a mailbox.
    pub fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tag = folder.path().file_name().unwrap().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let home = Self { folder, tag };
        fs::create_dir(home.path("fake")).unwrap();
        home.configure("");
        home
    }

    /// A home with the mailbox as a stranger would make it.
    pub fn new() -> Self {
        let home = Self::bare();
        home.sh("mkdir -p ~/.claude/questions/pending ~/.claude/questions/answered && chmod -R go-w ~/.claude");
        home
    }

    /// Writes the operator's configuration; the fake agent is its only runner.
    pub fn configure(&self, more: &str) {
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/agents/plain.sh");
        let runner = format!("[runner]\ndefault = \"fake\"\n[runner.fake]\nprogram = \"{}\"\n", agent.display());
        fs::write(self.path("config.toml"), format!("{more}\n{runner}")).unwrap();
    }

    /// A path below this home.
    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// A path below the mailbox.
    pub fn mailbox(&self, below: &str) -> PathBuf {
        self.path(".claude/questions").join(below)
    }

    /// A workflow id that nobody else uses.
    pub fn id(&self, name: &str) -> String {
        format!("{name}-{}", self.tag)
    }

    /// A command in this home, with none of the surroundings' settings.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for name in ["ASKBOX_DIR", "WORKFLOW_ID", "ASKBOX_WORKFLOW_ID", "ASKBOX_ASKED_BY", "ASKBOX_SESSION_ID", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", self.folder.path()).env("ASKBOX_CONFIG", self.path("config.toml")).env("FAKE_DIR", self.path("fake"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs a stranger's bash, which must succeed; returns what it printed.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.sh_as("", script)
    }

    /// The same with `$WORKFLOW_ID`.
    #[track_caller]
    pub fn sh_as(&self, id: &str, script: &str) -> String {
        let output = self.command("bash").arg("-c").arg(script).env("WORKFLOW_ID", id).output().unwrap();
        assert!(output.status.success(), "{script}\n{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs one of our programs.
    pub fn run(&self, program: &str, args: &[&str]) -> Output {
        self.command(exe(program)).args(args).output().unwrap()
    }

    /// Runs one of our programs, which must succeed; returns what it printed.
    #[track_caller]
    pub fn ok(&self, program: &str, args: &[&str]) -> String {
        let output = self.run(program, args);
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a watcher and waits until it watches.
    #[track_caller]
    pub fn watch(&self) -> Watcher {
        let watcher = self.watch_with(&[]);
        watcher.says("watching ");
        watcher
    }

    /// Starts a watcher.
    #[track_caller]
    pub fn watch_with(&self, args: &[&str]) -> Watcher {
        let mut command = self.command(exe("relaunch"));
        command.arg("watch").args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stderr, to) = (child.stderr.take().unwrap(), lines.clone());
        std::thread::spawn(move || BufReader::new(stderr).lines().map_while(Result::ok).for_each(|l| to.lock().unwrap().push(l)));
        Watcher { child, lines }
    }

    /// Every launch of a workflow, as `WORKFLOW/QUESTION/ATTEMPT`.
    pub fn launches(&self, id: &str) -> Vec<String> {
        let log = fs::read_to_string(self.path("fake/launches")).unwrap_or_default();
        log.lines().filter(|l| l.starts_with(&format!("{id}/"))).map(str::to_owned).collect()
    }

    /// What the `n`th launch of a workflow was told.
    #[track_caller]
    pub fn told(&self, id: &str, n: usize) -> String {
        let path = self.path(&format!("fake/told.{id}.{n}"));
        let line = until(&format!("launch {n} of {id}"), || fs::read_to_string(&path).ok());
        let message: Value = serde_json::from_str(&line).unwrap();
        message["message"]["content"].as_str().unwrap().to_owned()
    }

    /// The work of the fake agent for a workflow.
    pub fn agent_does(&self, id: &str, script: &str) {
        fs::write(self.path(&format!("fake/{id}.sh")), script).unwrap();
    }

    /// The documents of a folder of rounds that belong to a workflow.
    pub fn rounds(&self, folder: &str, id: &str) -> Vec<Value> {
        let mut names: Vec<_> = fs::read_dir(self.mailbox(folder)).into_iter().flatten().flatten().map(|e| e.path()).collect();
        names.sort();
        let ours = |p: &&PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&format!("{id}.")));
        names.iter().filter(ours).filter_map(|p| serde_json::from_slice(&fs::read(p).ok()?).ok()).collect()
    }

    /// Waits until `n` rounds of a workflow are closed as `state`, and returns them.
    #[track_caller]
    pub fn closed(&self, id: &str, state: &str, n: usize) -> Vec<Value> {
        until(&format!("{n} {state} rounds of {id}"), || {
            let rounds: Vec<_> = self.rounds("closed", id).into_iter().filter(|r| r["closed"]["state"] == state).collect();
            (rounds.len() >= n).then_some(rounds)
        })
    }

    /// Waits until something lies at a path of the mailbox.
    #[track_caller]
    pub fn appears(&self, below: &str) -> PathBuf {
        let path = self.mailbox(below);
        until(below, || path.symlink_metadata().is_ok().then(|| path.clone()))
    }

    /// Waits until nothing lies at a path of the mailbox.
    #[track_caller]
    pub fn vanishes(&self, below: &str) {
        until(&format!("the end of {below}"), || self.mailbox(below).symlink_metadata().is_err().then_some(()));
    }

    /// Reads a JSON file.
    #[track_caller]
    pub fn json(&self, path: impl AsRef<Path>) -> Value {
        let path = path.as_ref();
        serde_json::from_slice(&fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
    }

    /// The audit trail's events of a workflow, in order.
    pub fn audit(&self, id: &str) -> Vec<String> {
        let text = fs::read_to_string(self.mailbox("audit.jsonl")).unwrap_or_default();
        let entries = text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
        entries.filter(|e| e["workflow_id"] == id).map(|e| e["event"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the audit trail of a workflow is exactly this: an entry follows its transition.
    #[track_caller]
    pub fn audit_is(&self, id: &str, events: &[&str]) {
        let end = Instant::now() + LIMIT;
        while self.audit(id).len() < events.len() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.audit(id), events);
    }

    /// The reason beside a quarantined file.
    #[track_caller]
    pub fn reason(&self, name: &str) -> String {
        fs::read_to_string(self.appears(&format!("quarantine/{name}.reason"))).unwrap()
    }
}

fn exe(program: &str) -> &'static str {
    match program {
        "ask-post" => env!("CARGO_BIN_EXE_ask-post"),
        "ask-answer" => env!("CARGO_BIN_EXE_ask-answer"),
        "checkpoint" => env!("CARGO_BIN_EXE_checkpoint"),
        "relaunch" => env!("CARGO_BIN_EXE_relaunch"),
        other => panic!("there is no program {other}"),
    }
}

/// A running `relaunch watch`; killed when dropped.
pub struct Watcher {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Watcher {
    /// Waits until the watcher has said a line that holds `words`.
    #[track_caller]
    pub fn says(&self, words: &str) -> String {
        self.says_times(words, 1).pop().unwrap()
    }

    /// Waits until the watcher has said `n` such lines.
    #[track_caller]
    pub fn says_times(&self, words: &str, n: usize) -> Vec<String> {
        let end = Instant::now() + LIMIT;
        loop {
            let said = self.said(words);
            if said.len() >= n {
                return said;
            }
            let all = self.lines.lock().unwrap().join("\n");
            assert!(Instant::now() < end, "the watcher did not say `{words}` {n} times, but:\n{all}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The lines so far that hold `words`.
    pub fn said(&self, words: &str) -> Vec<String> {
        self.lines.lock().unwrap().iter().filter(|l| l.contains(words)).cloned().collect()
    }

    /// Sends SIGTERM and waits for a clean end.
    #[track_caller]
    pub fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = until("the watcher's end", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}");
        self.says("stopped; runs go on");
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes a file when dropped: for the seed's own paths in /tmp.
pub struct Litter(pub PathBuf);

impl Drop for Litter {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
