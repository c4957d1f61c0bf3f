//! The sandbox of a test: a temporary home with a mailbox for programs, watchers and agents. Their environment holds nothing of the
//! tester's own except `PATH`. This file makes a world, and runs programs in it.
//!
//! | file | content |
//! |---|---|
//! | `agents` | the two scripted agents: what they do, and what they were told |
//! | `life` | how long a world lives at most |
//! | `look` | looks into the mailbox, and waiting for what comes |
//! | `past` | the history of a workflow, as files |
//! | `transcript` | commands and all that they print, for snapshots |
//! | `trust` | answers that must be signed |

mod agents;
mod life;
mod look;
mod past;
mod transcript;
mod trust;

use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use life::{LONGEST_LIFE, Life};

use crate::files::put_whole;
use crate::{Outcome, Running, Signal, Watcher, feed, files, output, program, programs, report, signal, until};

/// A temporary home. When it is dropped, every process that has it as `$HOME` is killed.
pub struct World {
    root: PathBuf,
    home: PathBuf,
    work: PathBuf,
    mailbox: PathBuf,
    /// The whole environment of the programs, but for `PATH`.
    env: Vec<(String, String)>,
    path: String,
    /// The command that stands before every program.
    before: Vec<String>,
    /// The operator's configuration: what comes before and behind the part of a test.
    settings: [String; 2],
    transcript: String,
    watchers: AtomicUsize,
    life: Life,
    _folder: tempfile::TempDir,
}

impl World {
    /// A home with a mailbox `m`, which `$ASKBOX_DIR` names and the first program makes. No agent is configured.
    pub fn new() -> Self {
        let mut world = Self::empty(&memory());
        world.mailbox = world.path("m");
        world.env.push(("ASKBOX_DIR".into(), text(&world.mailbox)));
        world
    }

    /// The same with the agent that goes step by step; see [`World::hold`]. `body` is what it does between the receipt and its
    /// end, in sh; `work` is the usual. The watcher retries quickly.
    pub fn stepping(body: &str) -> Self {
        Self::new().with_stepping_agent(body)
    }

    /// A home without a mailbox, which would lie at its default place, `~/.claude/questions`. Its agent is the scripted one; see
    /// [`World::agent_does`].
    pub fn without_mailbox() -> Self {
        Self::empty(&memory()).with_scripted_agent()
    }

    /// The same with the mailbox, made as a user would make it by hand.
    pub fn at_home() -> Self {
        let world = Self::without_mailbox();
        for folder in ["pending", "answered"] {
            let folder = world.in_mailbox(folder);
            std::fs::DirBuilder::new().recursive(true).mode(0o755).create(&folder).expect("a folder in the mailbox");
        }
        world
    }

    fn empty(place: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("askbox-test").tempdir_in(place).expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it exists");
        Self::laid_out(folder, root.clone(), root)
    }

    /// A home for the real `claude`, beside its work folder and on the disk.
    pub fn beside_its_work() -> Self {
        Self::with_home_in(&std::env::temp_dir())
    }

    /// A home beside everything else, so that a filesystem can be mounted on it.
    pub fn with_home_apart() -> Self {
        Self::with_home_in(&memory())
    }

    fn with_home_in(place: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("askbox-test").tempdir_in(place).expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it exists");
        for name in ["home", "config", "work", "bin", "tmp"] {
            std::fs::create_dir(root.join(name)).expect("a folder in it");
        }
        Self::laid_out(folder, root.join("home"), root.join("work"))
    }

    fn laid_out(folder: tempfile::TempDir, home: PathBuf, work: PathBuf) -> Self {
        report::begin();
        let world = Self {
            root: folder.path().canonicalize().expect("it exists"),
            mailbox: home.join(".claude/questions"),
            env: vec![("HOME".into(), text(&home)), ("USER".into(), "ann".into())],
            path: std::env::var("PATH").unwrap_or_default(),
            before: Vec::new(),
            settings: Default::default(),
            transcript: String::new(),
            watchers: AtomicUsize::new(0),
            life: Life::of(home.clone(), LONGEST_LIFE),
            home,
            work,
            _folder: folder,
        };
        if std::env::var_os("ASKBOX_TEST_FENCE").is_some() {
            world.configure("");
        }
        world
    }

    /// Adds variables to the environment.
    pub fn set_env(&mut self, variables: &[(&str, &str)]) {
        self.env.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }

    /// Sets what `PATH` is for programs.
    pub fn set_path(&mut self, path: String) {
        self.path = path;
    }

    /// Puts a program and its arguments before every program, such as one that enters a network namespace.
    pub fn set_before(&mut self, before: Vec<String>) {
        self.before = before;
    }

    /// The whole environment of the programs, but for `PATH`.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.root.join(below)
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The working folder of the commands.
    pub fn work(&self) -> &Path {
        &self.work
    }

    pub fn mailbox(&self) -> &Path {
        &self.mailbox
    }

    /// A path below the mailbox.
    pub fn in_mailbox(&self, below: impl AsRef<Path>) -> PathBuf {
        self.mailbox.join(below)
    }

    /// A workflow id that holds the name of this world, so that files under the real /tmp never collide.
    pub fn id(&self, name: &str) -> String {
        let tag: String = text(&self.root).rsplit('/').next().unwrap_or_default().replace(|c: char| !c.is_ascii_alphanumeric(), "");
        format!("{name}-{tag}")
    }

    /// Where the operator's configuration lies.
    pub fn config(&self) -> PathBuf {
        self.home.join(".config/askbox/config.toml")
    }

    /// Writes the operator's configuration: `more`, between the parts that the agent of this world needs. With a stepping agent `more`
    /// goes on in the section `[relaunch]`.
    pub fn configure(&self, more: &str) {
        let [before, behind] = &self.settings;
        std::fs::create_dir_all(self.config().parent().expect("a folder")).expect("the configuration's folder");
        self.replace_config(&format!("{before}{more}\n{behind}"));
    }

    /// Replaces a part of the operator's configuration.
    #[track_caller]
    pub fn reconfigure(&self, from: &str, to: &str) {
        let toml = std::fs::read_to_string(self.config()).expect("the configuration");
        assert!(toml.contains(from), "no {from:?} in {toml}");
        self.replace_config(&toml.replace(from, to));
    }

    /// Writes the whole text of the operator's configuration. A watcher that reads it just then gets the earlier one, or this one.
    pub fn replace_config(&self, toml: &str) {
        let toml = match std::env::var("ASKBOX_TEST_FENCE") {
            Ok(mode) if !toml.contains("[fence]") => &format!("{toml}\n[fence]\nmode = \"{mode}\"\n"),
            _ => toml,
        };
        put_whole(&self.config(), &self.config().with_extension("new"), toml);
    }

    /// Makes the mailbox with all its folders by a question of the workflow `first`, which is withdrawn.
    pub fn make_mailbox(&self) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(self.mailbox()).expect("the mailbox");
        self.ok("ask-post", &["-w", "first", "?"]);
        self.ok("ask-answer", &["cancel", "first"]);
    }

    /// Puts a file into the mailbox as a whole: no program sees a part of it, however slowly it is written.
    #[track_caller]
    pub fn put(&self, below: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.in_mailbox(below);
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        put_whole(&path, &path.with_file_name(format!(".put.{name}")), content);
    }

    /// Asks a question of a workflow, with an option `a`, and answers it with that.
    #[track_caller]
    pub fn ask_and_answer(&self, workflow: &str) {
        self.ok("ask-post", &["-w", workflow, "Merge?", "-o", "a=A"]);
        self.ok("ask-answer", &[workflow, "a"]);
    }

    /// Any command, with the environment of this world and nothing else.
    pub fn any_command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match self.before.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.env_clear().envs(self.env.iter().map(|(k, v)| (k, v))).env("PATH", &self.path);
        command.current_dir(&self.work).stdin(Stdio::null()).process_group(0);
        command
    }

    /// One of askbox's programs. `PATH` does not lead to the others: a run must find them all the same.
    pub fn command(&self, name: &str) -> Command {
        self.any_command(program(name))
    }

    /// The same behind another program and its arguments, such as strace.
    pub fn wrapped(&self, before: &[String], name: &str) -> Command {
        match before.split_first() {
            Some((first, rest)) => {
                let mut command = self.any_command(first);
                command.args(rest).arg(program(name));
                command
            }
            None => self.command(name),
        }
    }

    /// Runs one of askbox's programs to its end.
    #[track_caller]
    pub fn run(&self, name: &str, args: &[&str]) -> Outcome {
        output(self.command(name).args(args))
    }

    /// The same with `input` on its standard input.
    #[track_caller]
    pub fn run_with(&self, name: &str, args: &[&str], input: &[u8]) -> Outcome {
        feed(self.command(name).args(args), input)
    }

    /// Runs a program that must succeed; what it printed.
    #[track_caller]
    pub fn ok(&self, name: &str, args: &[&str]) -> String {
        let outcome = self.run(name, args);
        assert!(outcome.status.success(), "{name} {args:?}: {}\n{}", outcome.status, outcome.words());
        outcome.stdout
    }

    /// A line of shell, with askbox's programs on its `PATH`.
    pub fn shell_command(&self, script: &str) -> Command {
        let mut command = self.any_command("/bin/sh");
        command.args(["-c", script]).env("PATH", self.path_with_programs());
        command
    }

    /// `PATH` with askbox's programs.
    pub fn path_with_programs(&self) -> String {
        format!("{}:{}", programs().display(), self.path)
    }

    /// Runs a line of shell.
    #[track_caller]
    pub fn shell(&self, script: &str) -> Outcome {
        output(&mut self.shell_command(script))
    }

    /// Runs a line of shell that must end with this status; its words.
    #[track_caller]
    pub fn refused(&self, status: i32, script: &str) -> String {
        let outcome = self.shell(script);
        assert_eq!(outcome.code(), status, "{script}: {}", outcome.words());
        outcome.words()
    }

    /// Runs a line of shell that must succeed; what it printed, without the last newline.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let outcome = self.shell(script);
        assert!(outcome.status.success(), "{script}\n{}", outcome.words());
        outcome.stdout.strip_suffix('\n').unwrap_or(&outcome.stdout).to_owned()
    }

    /// Runs a script of bash that must succeed and that knows nothing of askbox's programs.
    #[track_caller]
    pub fn bash(&self, script: &str) -> String {
        self.bash_for("", script)
    }

    /// The same with `$WORKFLOW_ID`.
    #[track_caller]
    pub fn bash_for(&self, workflow: &str, script: &str) -> String {
        let outcome = output(self.any_command("bash").args(["-c", script]).env("WORKFLOW_ID", workflow));
        assert!(outcome.status.success(), "{script}\n{outcome:?}");
        outcome.stdout
    }

    /// Runs a line of shell as another user, from a copy of the programs that this user can reach.
    pub fn shell_as(&self, uid: u32, script: &str) -> Outcome {
        let programs = self.path("bin");
        std::fs::create_dir_all(&programs).expect("a folder");
        for name in ["ask-post", "ask-answer", "checkpoint", "askbox", "askbox-agents"] {
            files::copy_program(Path::new(program(name)), &programs.join(name));
        }
        let mut command = self.shell_command(script);
        output(command.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).uid(uid).gid(uid))
    }

    /// Starts a watcher and waits until it watches.
    #[track_caller]
    pub fn watch(&self) -> Watcher {
        let watcher = self.start_watcher();
        watcher.says("watching ");
        watcher
    }

    /// Starts a watcher.
    pub fn start_watcher(&self) -> Watcher {
        self.start_as_watcher(self.command("relaunch").arg("watch"))
    }

    /// Starts a watcher behind strace.
    pub fn start_watcher_behind(&self, before: &[String]) -> Watcher {
        self.start_as_watcher(self.wrapped(before, "relaunch").arg("watch"))
    }

    /// Starts a command that is a watcher.
    pub fn start_as_watcher(&self, command: &mut Command) -> Watcher {
        let log = self.path(format!("watcher.{}.log", self.watchers.fetch_add(1, Ordering::Relaxed)));
        let stderr = std::fs::File::create(&log).expect("a log");
        Watcher { process: Running::start(command.stdout(Stdio::null()).stderr(stderr)), log }
    }

    /// The logs of all watchers, the oldest watcher first.
    pub fn watchers_said(&self) -> String {
        let logs = (0..self.watchers.load(Ordering::Relaxed)).map(|n| self.path(format!("watcher.{n}.log")));
        logs.filter_map(|log| std::fs::read_to_string(log).ok()).collect()
    }

    /// Processes that have this world as their home.
    fn inhabitants(&self) -> impl Iterator<Item = (i32, String)> + use<> {
        life::inhabitants(&self.home)
    }

    /// Processes of this world whose command line contains `words`.
    pub fn processes(&self, words: &str) -> Vec<i32> {
        self.inhabitants().map(|(pid, _)| pid).filter(|pid| crate::process::command_line(*pid).contains(words)).collect()
    }

    /// The only process of this world whose command line contains `words`. This waits for the end of an earlier one, which may still be on
    /// its way out.
    #[track_caller]
    pub fn only_process(&self, words: &str) -> i32 {
        until(&format!("one process has {words:?} in its command line"), || Some(self.processes(words)).filter(|pids| pids.len() == 1))[0]
    }

    /// Processes of runs in this world, with their environments.
    pub fn of_runs(&self) -> Vec<(i32, String)> {
        self.inhabitants().filter(|(_, env)| env.contains("ASKBOX_RUN=")).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let newest = |lines: Vec<String>| lines.into_iter().rev().take(20).collect::<Vec<_>>();
            let said = self.watchers_said().lines().map(str::to_owned).collect();
            eprintln!("the watchers' last lines, newest first: {:#?}\nthe agents' log: {:#?}", newest(said), newest(self.log()));
            let audit = std::fs::read_to_string(self.in_mailbox("audit.jsonl")).unwrap_or_default();
            eprintln!("the audit's last lines, newest first: {:#?}", newest(audit.lines().map(str::to_owned).collect()));
        }
        for _ in 0..20 {
            let left: Vec<_> = self.inhabitants().collect();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|(pid, _)| signal(*pid, Signal::KILL));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A folder in memory if the system has one: what is killed does not care about the disk.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() }
}

fn text(path: &Path) -> String {
    path.to_str().expect("a UTF-8 path").to_owned()
}
