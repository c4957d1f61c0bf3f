//! Becomes `qwen`, with a process beside it that holds its dialogs. If that process cannot be started, Qwen starts without it.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::qwen::arguments::begin_a_session;
use crate::qwen::folder::Folder;
use askbox_cli::program;
use askbox_mailbox::programs::QWEN;
use askbox_mailbox::{Error, IoContext, Result};
use askbox_run::programs;

/// How long the process beside it may take until it reads Qwen's events. It takes milliseconds, and longer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The variable with the pid of the process that became `qwen`, and the number of such processes above it and with it: `PID/NUMBER`.
const BECAME: &str = "ASKBOX_LIVE_QWEN";
/// How many such processes may stand above each other. A command of a session may start a session.
const MOST: u32 = 3;

/// Becomes `qwen` with these arguments. `is_wanted` says if the operator wants its dialogs in the mailbox. Returns only if `qwen`
/// cannot be run.
pub(crate) fn run(args: &[OsString], is_wanted: impl FnOnce() -> Result<bool>) -> Error {
    let above = program::env(BECAME).map(|became| Became::read(&became));
    let qwen = match find(above) {
        Ok(qwen) => qwen,
        Err(e) => return e,
    };
    let is_attended = begin_a_session(args) && std::io::stdin().is_terminal();
    let beside = match is_attended.then(|| is_wanted().and_then(|is_wanted| is_wanted.then(Beside::start).transpose())).transpose() {
        Ok(beside) => beside.flatten(),
        Err(e) => {
            program::say(&format!("qwen's dialogs stay at this terminal alone: {}\n", program::message(&e)));
            None
        }
    };
    let mut command = Command::new(&qwen);
    if let Some(beside) = &beside {
        command.arg("--json-file").arg(beside.folder.events()).arg("--input-file").arg(beside.folder.replies());
    }
    let error = command.args(args).env(BECAME, Became::next(above).to_string()).exec();
    if let Some(beside) = beside {
        beside.give_up();
    }
    Error::failed(format!("{} cannot be run: {error}", qwen.display()), "npm install -g @qwen-code/qwen-code")
}

/// The program `qwen` on PATH.
fn find(above: Option<Became>) -> Result<PathBuf> {
    let missing = |_| Error::failed("the program `qwen` is not on PATH", "npm install -g @qwen-code/qwen-code");
    let qwen = programs::find(Path::new(QWEN.name)).map_err(missing)?;
    let is = |own: PathBuf| Some(std::fs::canonicalize(&qwen).ok()? == std::fs::canonicalize(own).ok()?);
    let is_this = || std::env::current_exe().ok().and_then(is) == Some(true) || programs::askbox().and_then(is) == Some(true);
    // A script of this name may start this command again, in its place or as its child.
    let parent = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs());
    let is_loop = |above: Became| above.number >= MOST || [std::process::id(), parent].contains(&above.pid);
    if is_this() || above.is_some_and(is_loop) {
        let problem = format!("{} starts `askbox live qwen` again, and not Qwen", qwen.display());
        return Err(Error::failed(problem, "put the folder of the real qwen first on PATH, and use an alias in place of a script"));
    }
    Ok(qwen)
}

/// A process that became `qwen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[display("{pid}/{number}")]
struct Became {
    pid: u32,
    number: u32,
}

impl Became {
    /// Reads the variable. In another form, it is no reason to start anything.
    fn read(variable: &str) -> Self {
        let read = variable.split_once('/').and_then(|(pid, number)| Some(Self { pid: pid.parse().ok()?, number: number.parse().ok()? }));
        read.unwrap_or(Self { pid: 0, number: MOST })
    }

    fn next(above: Option<Self>) -> Self {
        Self { pid: std::process::id(), number: above.map_or(0, |above| above.number) + 1 }
    }
}

/// The process beside the session that is about to begin.
struct Beside {
    folder: Folder,
    child: Child,
}

impl Beside {
    fn start() -> Result<Self> {
        let folder = Folder::make()?;
        let own = std::env::current_exe().io("find", "this program")?;
        let mut command = Command::new(own);
        command.args([QWEN.name, "--beside"]).arg(folder.path()).arg("--of").arg(std::process::id().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = match command.spawn().io("start", "the process beside it") {
            Ok(child) => child,
            Err(e) => {
                folder.remove();
                return Err(e);
            }
        };
        let mut beside = Self { folder, child };
        if beside.is_ready() {
            return Ok(beside);
        }
        beside.give_up();
        Err(Error::failed("the process beside it has not started: see `askbox doctor`", "askbox doctor"))
    }

    /// Waits until the process reads Qwen's events. By then, it has left this terminal.
    fn is_ready(&mut self) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            if self.folder.is_read() {
                return true;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        false
    }

    fn give_up(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.folder.remove();
    }
}
