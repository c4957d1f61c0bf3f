//! Starting the agent: its arguments and environment from the operator's configuration, its session from the claim.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::agent::claude::{self, Invocation};
use crate::agent::transcript;
use crate::config::Runner;
use crate::error::{Error, Result};
use crate::mailbox::{Mailbox, Question};
use crate::run::attempt::record::{Begin, Run};
use crate::run::process::prompt;
use crate::run::supervise::stop;

/// The first argument under which `relaunch` becomes the agent: see [`become_agent`].
pub const SHIM: &str = "__agent";

/// The `relaunch` program, where it was named.
static RELAUNCH: OnceLock<PathBuf> = OnceLock::new();

/// Names the `relaunch` program, through which every agent is launched. Where nobody does, it is looked for beside the running
/// program and then on PATH. The first call counts.
pub fn relaunch_is(program: impl Into<PathBuf>) {
    let _ = RELAUNCH.set(program.into());
}

/// The `relaunch` program.
pub fn relaunch() -> Result<PathBuf> {
    if let Some(named) = RELAUNCH.get() {
        return Ok(named.clone());
    }
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("relaunch")).filter(|p| is_executable(p));
    beside.or_else(|| on_path(Path::new("relaunch"))).ok_or_else(|| {
        Error::failed("the `relaunch` program is not found", "install it beside this program or on PATH; a library caller can name it")
    })
}

/// How long, in milliseconds, a Bash call of the agent may take where it does not say so itself.
pub const BASH_TIMEOUT: &str = "BASH_DEFAULT_TIMEOUT_MS";
/// The longest that the agent's Bash takes.
const LONGEST_BASH_MS: &str = "600000";

/// How the session of this attempt begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A new session under the chosen id.
    New,
    /// The session that an earlier attempt began.
    Continue,
    /// A fork of an earlier round's session.
    Fork(String),
}

/// A transcript of the chosen session means that an earlier attempt began it: then it is resumed, never begun anew.
#[must_use]
pub fn start_of(run: &Run) -> Start {
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let exists = |session: &str| dir.as_ref().is_some_and(|d| claude::transcript_exists(d, session).is_some());
    match &run.begin {
        _ if exists(&run.session_id.to_string()) => Start::Continue,
        Begin::Fork { from } if exists(&from.to_string()) => Start::Fork(from.to_string()),
        _ => Start::New,
    }
}

/// Whether an attempt's session has its message and got nowhere: it is discarded, and the next attempt begins from where this one
/// began. A resume would show the model the message twice.
#[must_use]
pub fn got_nowhere(run: &Run) -> bool {
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let transcript = dir.and_then(|d| claude::transcript_exists(&d, &run.session_id.to_string()));
    let file = transcript.and_then(|t| std::fs::File::open(t).ok());
    file.is_some_and(|f| transcript::is_unanswered(f, &run.message_id.to_string()))
}

/// The whole call.
#[must_use]
pub fn invocation(mailbox: &Mailbox, question: &Question, run: &Run, runner: &Runner, start: &Start) -> Invocation {
    let program = Path::new(&runner.program);
    let cwd = run.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    let session = run.session_id.to_string();
    let mut call = match start {
        Start::New => Invocation::start(program, &cwd, &session),
        Start::Continue => Invocation::resume(program, &cwd, &session),
        Start::Fork(from) => Invocation::fork(program, &cwd, from, &session),
    };
    if runner.dangerously_skip_permissions {
        call.args.push("--dangerously-skip-permissions".into());
    } else if !runner.permission_mode.is_empty() {
        call = call.permission_mode(&runner.permission_mode);
    }
    // What the prompt tells it to read, it may read.
    let named =
        prompt::checkpoint(mailbox, question).into_iter().chain([prompt::answer_file(mailbox, run)]).chain(prompt::named_files(question));
    let readable = named.filter_map(|path| claude::may_read(&path));
    // An operator's own --settings would be replaced by ours: then there is no stop at a tool boundary.
    if !runner.args.iter().any(|a| a.starts_with("--settings")) {
        call = call.settings(&stop::hooks(&run.folder(mailbox)));
    }
    call = call
        .allowed_tools(readable)
        .allowed_tools(&runner.allowed_tools)
        .extra_args(&runner.args)
        .scrub(std::env::vars_os().map(|(name, _)| name));
    for (option, value) in [("--model", &run.model), ("--agent", &run.role)] {
        call.args.extend(value.iter().map(|v| format!("{option}={v}").into()));
    }
    // A spawn waits in the agent's Bash: as long as that may wait at all.
    if std::env::var_os(BASH_TIMEOUT).is_none() {
        call = call.env(BASH_TIMEOUT, LONGEST_BASH_MS);
    }
    if let Some(dir) = &run.config_dir {
        call = call.config_dir(dir);
    }
    if let Some(path) = path_with_our_programs() {
        call = call.env("PATH", path);
    }
    for (name, value) in environment(mailbox, run) {
        call = call.env(name, value);
    }
    runner.env.iter().fold(call, |call, (name, value)| call.env(name, value))
}

/// What the agent's environment says about its run, for `ask-post` and `relaunch spawn` in the agent's Bash.
fn environment(mailbox: &Mailbox, run: &Run) -> [(&'static str, String); 5] {
    let id = run.workflow_id.as_str();
    [
        ("ASKBOX_DIR", mailbox.root().display().to_string()),
        ("ASKBOX_WORKFLOW_ID", id.to_owned()),
        ("WORKFLOW_ID", id.to_owned()),
        ("ASKBOX_SESSION_ID", run.session_id.to_string()),
        ("ASKBOX_RUN", run.token()),
    ]
}

/// The agent's Bash calls `ask-post` and `checkpoint` by name: our own folder goes behind what PATH has.
fn path_with_our_programs() -> Option<OsString> {
    let ours = relaunch().ok()?.parent()?.to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Once: a run inside a run inside a run has it already.
    std::env::join_paths(std::env::split_paths(&path).filter(|p| !p.as_os_str().is_empty() && *p != ours).chain([ours.clone()])).ok()
}

/// Starts the agent in its own process group, with its death tied to the supervisor's. Must be called on a
/// thread that outlives the agent: the kernel ties it to the thread that starts it.
pub fn spawn(call: &Invocation, stderr: File) -> Result<Child> {
    if !call.cwd.is_dir() {
        return Err(Error::failed(
            format!("the agent's folder {} does not exist", call.cwd.display()),
            "make it, or answer from another folder",
        ));
    }
    let program = find(&call.program)?;
    let ours = relaunch()?;
    // No `pre_exec`: our own small program sets the death signal and then becomes the agent.
    let mut command = Command::new(ours);
    command.arg(SHIM).arg(std::process::id().to_string()).arg(program).args(&call.args).current_dir(&call.cwd);
    call.env_remove.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.envs(call.env_set.iter().map(|(k, v)| (k, v)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
    command.spawn().map_err(|e| {
        Error::failed(format!("cannot launch {}: {e}", call.program.display()), "check [runner] in the configuration: askbox doctor")
    })
}

/// Looks the program up before anything is started, so that a missing one is said plainly.
pub fn find(program: &Path) -> Result<PathBuf> {
    let missing = || {
        Error::failed(
            format!("there is no program `{}`", program.display()),
            format!(
                "install it, put it on the watcher's PATH, or set [runner.NAME] program = \"/path\" in {}",
                crate::config::location().unwrap_or_default().display()
            ),
        )
    };
    if program.components().count() > 1 {
        return if is_executable(program) { Ok(program.to_path_buf()) } else { Err(missing()) };
    }
    on_path(program).ok_or_else(missing)
}

fn is_executable(program: &Path) -> bool {
    rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok() && program.is_file()
}

fn on_path(program: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|p| is_executable(p))
}

/// `relaunch __agent PARENT PROGRAM ARGS…`: asks the kernel for SIGTERM when the supervisor dies, then becomes the agent.
/// SIGTERM, not SIGKILL: only so does the agent take its tools along. Returns only if that fails.
#[must_use]
pub fn become_agent(mut args: impl Iterator<Item = OsString>) -> u8 {
    let parent = args.next().and_then(|p| p.to_str()?.parse::<u32>().ok());
    let Some(program) = args.next() else { return 2 };
    let tied = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    // The supervisor may have died before the kernel knew.
    let orphaned = rustix::process::getppid().map(|p| p.as_raw_nonzero().get().unsigned_abs()) != parent;
    if tied.is_err() || orphaned {
        return 1;
    }
    let error = Command::new(&program).args(args).exec();
    eprintln!("relaunch: cannot run {}: {error}", program.to_string_lossy());
    127
}
