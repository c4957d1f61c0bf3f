//! The launch of the agent, or of a plain program: how its session begins, its arguments and environment, and the start of its process.
//!
//! - How the session begins in an attempt is judged by the transcripts that exist.
//! - The arguments and the environment come from the operator's configuration, the attempt, and the question.
//! - The process is started so that the kernel ends the agent if its supervisor dies.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::attempt::record::{self, Begin, Run};
use crate::attempt::trace;
use crate::attempt::turn_ending::LATER;
use crate::process::permitted::WorkFolder;
use crate::process::programs::{self, relaunch};
use crate::process::{agent_lock, run_processes, signals};
use crate::prompt::message;
use askbox_agent::claude::{self, Invocation};
use askbox_agent::transcript;
use askbox_config::{Config, Runner};
use askbox_fence::Fence;
use askbox_mailbox::documents::fields::asked_in::{NONCE, Nonce};
use askbox_mailbox::documents::fields::trace::{TRACEPARENT, TRACESTATE, Trace};
use askbox_mailbox::platform::processes;
use askbox_mailbox::{Error, IoContext, Mailbox, Question, Result, text};

/// How the session of an attempt begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStart {
    /// A new session under the chosen id.
    New,
    /// The session that an earlier attempt began.
    Continue {
        /// The entry to continue behind, if messages to continue follow it that got no work of the agent. `None`: the last entry.
        behind: Option<String>,
    },
    /// A fork of an earlier round's session.
    Fork(String),
}

/// The time between two tries to start a program that an update is writing.
const TRY_AGAIN: Duration = Duration::from_millis(200);
/// How long the attempt itself waits for the end of an update. Afterwards the attempt ends, and a later one starts the program.
const IS_REPLACED: Duration = Duration::from_secs(5);
/// The words about such a program, behind its name.
const BEING_REPLACED: &str = ": it is being replaced";

/// The agent program's words if it does not find the entry that a session is to be continued behind.
const NO_SUCH_ENTRY: &str = "No message found with message.uuid";

/// How the session of `run` begins now. If the chosen session has a transcript, an earlier attempt began it, so it is resumed.
pub fn session_start(mailbox: &Mailbox, run: &Run) -> SessionStart {
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let transcript = |session: &str| dir.as_ref().and_then(|d| transcript::find(d, session));
    match (transcript(&run.session_id.to_string()), &run.begin) {
        (Some(begun), _) => SessionStart::Continue { behind: behind(mailbox, run, &begun) },
        (None, Begin::Fork { from, .. }) if transcript(&from.to_string()).is_some() => SessionStart::Fork(from.to_string()),
        _ => SessionStart::New,
    }
}

/// The entry to continue behind. If earlier attempts told the session to continue, and the agent has done nothing since, this attempt
/// tells it so once more. The session then goes on from the entry in front of those messages, so that the model reads one of them.
fn behind(mailbox: &Mailbox, run: &Run, transcript: &Path) -> Option<String> {
    let told: Vec<String> = (1..run.attempt).map(|attempt| Run { attempt, ..run.clone() }.continue_id().to_string()).collect();
    let last = record::read(mailbox, &run.round(), run.attempt.checked_sub(1)?);
    if last.is_ok_and(|last| last.why.is_some_and(|why| why.contains(NO_SUCH_ENTRY))) {
        return None;
    }
    transcript::before_unanswered(File::open(transcript).ok()?, &told)
}

/// True if the session of this attempt is of no use to the next one, which then begins another session in the same way.
///
/// - The agent died before the session had a message. Its program would refuse to continue it.
/// - The session has the attempt's message, and the agent has not answered it. A resume would show the model the message twice.
pub fn is_session_useless(run: &Run) -> bool {
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)));
    let session = run.session_id.to_string();
    let Some(dir) = dir else { return false };
    let file = transcript::find(&dir, &session).and_then(|t| std::fs::File::open(t).ok());
    transcript::is_void(&dir, &session) || file.is_some_and(|f| transcript::is_unanswered(f, &run.message_id.to_string()))
}

/// The environment variable with the time limit, in milliseconds, of the agent's Bash calls that set none themselves.
pub const BASH_TIMEOUT: &str = "BASH_DEFAULT_TIMEOUT_MS";
/// The longest limit that the agent's Bash accepts.
const LONGEST_BASH_MS: &str = "600000";

/// The call of the agent for an attempt. `settings` are askbox's own, as JSON.
pub fn agent_call(
    mailbox: &Mailbox,
    question: &Question,
    run: &Run,
    runner: &Runner,
    start: &SessionStart,
    settings: &str,
    handed: &Handed,
) -> Invocation {
    let program = Path::new(&runner.program);
    let session = run.session_id.to_string();
    let mut call = match start {
        SessionStart::New => Invocation::start(program, &session),
        SessionStart::Continue { behind: None } => Invocation::resume(program, &session),
        SessionStart::Continue { behind: Some(entry) } => Invocation::resume_behind(program, &session, entry),
        SessionStart::Fork(from) => Invocation::fork(program, from, &session),
    };
    if runner.dangerously_skip_permissions {
        call.args.push("--dangerously-skip-permissions".into());
    } else if !runner.permission_mode.is_empty() {
        call = call.permission_mode(&runner.permission_mode);
    }
    if !runner.task_tool {
        // The tool for starting subagents is called Task, and Agent in newer versions.
        call.args.push("--disallowedTools=Task,Agent".into());
    }
    // The agent may read the files that its prompt names.
    let readable = message::readable_files(mailbox, question, run).into_iter().filter_map(|path| claude::may_read(&path));
    // The operator's own `--settings` are kept, because ours would replace them. A run with the operator's cannot be stopped at a tool
    // boundary.
    if without_our_settings(runner).is_none() {
        call = call.settings(settings);
    }
    call = call.allowed_tools(readable).allowed_tools(&runner.allowed_tools).extra_args(&runner.args).scrub(own_environment());
    for (option, value) in [("--model", &run.model), ("--agent", &run.role)] {
        call.args.extend(value.iter().map(|v| format!("{option}={v}").into()));
    }
    // Without it, most failures to start leave nothing but a line on standard error.
    call = call.env("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1");
    // `relaunch spawn` waits inside the agent's Bash, so give it the longest time that Bash accepts.
    if std::env::var_os(BASH_TIMEOUT).is_none() {
        call = call.env(BASH_TIMEOUT, LONGEST_BASH_MS);
    }
    if let Some(dir) = &run.config_dir {
        call = call.env(claude::CONFIG_DIR, dir);
    }
    in_environment(call, mailbox, run, runner, handed)
}

/// The environment variable with the path of the file that a program gets on its standard input too.
pub const ROUND_FILE: &str = "ASKBOX_ROUND";

/// The call of a plain program, for an attempt. `round` is the file with its input.
pub fn program_call(mailbox: &Mailbox, run: &Run, runner: &Runner, handed: &Handed, round: &Path) -> Invocation {
    let args = runner.args.iter().map(|arg| arg.replace("{workflow_id}", run.workflow_id.as_str()));
    let call = Invocation::plain(Path::new(&runner.program)).extra_args(args);
    in_environment(call.scrub(own_environment()).env(ROUND_FILE, round), mailbox, run, runner, handed)
}

/// The call of the adapter of an attempt. It reads the attempt's records in the mailbox, and the operator's configuration.
pub fn adapter_call(mailbox: &Mailbox, run: &Run, runner: &Runner, handed: &Handed, adapter: &Path) -> Invocation {
    let config = askbox_config::location().filter(|file| file.exists()).and_then(|file| std::path::absolute(file).ok());
    let config = config.into_iter().flat_map(|file| ["--config".into(), file.into_os_string()]);
    let round = run.round();
    let of_attempt = [round.workflow.to_string(), round.question.to_string(), run.attempt.to_string()];
    let call = Invocation::plain(adapter).extra_args(config).extra_args(["run", "--mailbox"]).extra_args([mailbox.root()]);
    let call = call.extra_args(of_attempt);
    in_environment(call.scrub(own_environment()), mailbox, run, runner, handed)
}

fn own_environment() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name)
}

/// The call in the environment of a run, with the operator's variables last.
fn in_environment(mut call: Invocation, mailbox: &Mailbox, run: &Run, runner: &Runner, handed: &Handed) -> Invocation {
    if let Some(path) = path_with_our_programs() {
        call = call.env("PATH", path);
    }
    for (name, value) in environment(mailbox, run, handed) {
        call = call.env(name, value);
    }
    runner.env.iter().fold(call, |call, (name, value)| call.env(name, value))
}

/// The operator's own argument that keeps askbox's settings, and therefore all of its hooks, from the agent. `None` if there is no such
/// argument.
pub fn without_our_settings(runner: &Runner) -> Option<&str> {
    runner.args.iter().map(String::as_str).find(|arg| arg.starts_with("--settings"))
}

/// The values of an attempt that its processes alone are given.
pub struct Handed {
    /// The secret of the attempt.
    pub nonce: Nonce,
    /// The place of the run in a trace.
    pub trace: Option<Trace>,
}

impl Handed {
    /// A new secret, and the trace of the run.
    pub fn new(config: &Config, question: &Question, run: &Run) -> Self {
        Self { nonce: Nonce::generate(), trace: trace::of_run(config, question, run) }
    }
}

/// The environment variables that describe the run to `ask-post` and `relaunch spawn` in the agent's Bash, and its place in a trace.
pub(in crate::process) fn environment(mailbox: &Mailbox, run: &Run, handed: &Handed) -> Vec<(&'static str, String)> {
    let id = run.workflow_id.as_str();
    let trace = handed.trace.as_ref();
    let of_trace = [
        trace.map(|trace| (TRACEPARENT, trace.traceparent.as_str().to_owned())),
        trace.and_then(|trace| Some((TRACESTATE, trace.tracestate.as_ref()?.as_str().to_owned()))),
    ];
    let of_run = [
        ("ASKBOX_DIR", mailbox.root().display().to_string()),
        ("ASKBOX_WORKFLOW_ID", id.to_owned()),
        ("WORKFLOW_ID", id.to_owned()),
        ("ASKBOX_SESSION_ID", run.session_id.to_string()),
        ("ASKBOX_RUN", run.token()),
        (NONCE, handed.nonce.to_env()),
    ];
    of_run.into_iter().chain(of_trace.into_iter().flatten()).collect()
}

/// PATH with the folder of askbox's programs at its end: the agent's Bash calls `ask-post` and `checkpoint` by name.
pub fn path_with_our_programs() -> Option<OsString> {
    let ours = relaunch().ok()?.parent()?.to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Add the folder only once, however deep runs are nested.
    std::env::join_paths(std::env::split_paths(&path).filter(|p| !p.as_os_str().is_empty() && *p != ours).chain([ours.clone()])).ok()
}

/// The first argument that makes `relaunch` become the agent: see [`become_agent`].
pub const SHIM: &str = "__agent";

/// The environment variable that names the folder of a run's requests, for the programs behind the fence.
pub const FENCE: &str = "ASKBOX_FENCE";

/// The argument, in front of a fence and a program, with which `relaunch` puts itself behind that fence before it becomes the program.
pub const FENCED: &str = "__fenced";

fn put_behind(command: &mut Command, fence: Option<&Fence>) {
    if let Some(fence) = fence {
        command.arg(FENCED).arg(serde_json::json!(fence).to_string());
    }
}

/// Puts up an empty fence in a process of its own. Returns what the system said against it.
pub fn try_fence() -> Option<String> {
    let mut command = Command::new(programs::relaunch().ok()?);
    command.arg(SHIM).arg(std::process::id().to_string());
    put_behind(&mut command, Some(&Fence { is_must: true, ..Fence::default() }));
    let output = command.stdin(Stdio::null()).output().ok()?;
    (!output.status.success()).then(|| text::one_line(String::from_utf8_lossy(&output.stderr).trim()))
}

/// Starts the agent in `folder`, behind the fence, in a process group of its own, with `lock` held. It gets SIGTERM when the calling *thread* ends, so that
/// thread must outlive it.
pub fn spawn(call: &Invocation, folder: &WorkFolder, lock: &Path, fence: Option<&Fence>, stderr: File) -> Result<Child> {
    let path = call.env_set.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let program = programs::startable(&call.program, path)?;
    let ours = programs::relaunch()?;
    // Instead of `pre_exec`, which is unsafe: `relaunch` sets the death signal, takes the lock, and then becomes the agent.
    let mut command = Command::new(ours);
    command.arg(SHIM).arg(std::process::id().to_string()).arg(lock);
    put_behind(&mut command, fence);
    command.arg(program).args(&call.args).current_dir(folder.to_start_in());
    call.env_remove.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env_remove(run_processes::SUPERVISES);
    command.envs(call.env_set.iter().map(|(k, v)| (k, v)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
    command.spawn().io("launch", &call.program).map_err(|e| match e {
        short if short.is_shortage() => short,
        e => Error::failed(e.to_string(), "check [runner] in the configuration: askbox doctor"),
    })
}

/// A command that runs `program`, and that gets SIGTERM when the calling *thread* ends. Without `relaunch`, or where the program cannot
/// start, the command runs it as usual.
pub fn command_tied_to_this_thread(program: &OsStr) -> Command {
    tied(program, None).unwrap_or_else(|_| Command::new(program))
}

/// [`command_tied_to_this_thread`], behind a fence.
///
/// # Errors
/// [`Error::Failed`] if `relaunch` is not found, or the program cannot start.
pub fn tied(program: &OsStr, fence: Option<&Fence>) -> Result<Command> {
    let program = programs::startable(Path::new(program), None)?;
    let mut command = Command::new(programs::relaunch()?);
    command.arg(SHIM).arg(std::process::id().to_string());
    put_behind(&mut command, fence);
    command.arg(program);
    Ok(command)
}

/// `relaunch __agent PARENT LOCK [__fenced FENCE] PROGRAM ARGS…`: takes the agent's lock, goes behind the fence, resets its signals, asks the kernel for SIGTERM when the supervisor (the process
/// PARENT) dies, then becomes the agent. Returns an exit status if that fails.
pub fn become_agent(mut args: impl Iterator<Item = OsString>) -> u8 {
    let parent = args.next().and_then(|p| p.to_str()?.parse::<u32>().ok());
    let Some(mut program) = args.next() else { return 2 };
    let mut is_free = false;
    // A supervisor of an earlier version, whose programs were replaced, names no lock. Its agent's program must not be taken for one.
    if agent_lock::is_one(Path::new(&program)) {
        // Before the look at the parent. While the supervisor lives, nobody asks whether the lock is free.
        if let Err(error) = agent_lock::keep(Path::new(&program)) {
            return complain(&error.to_string(), 1);
        }
        let Some(next) = args.next() else { return 2 };
        program = next;
    }
    if program == FENCED {
        let fence: Option<Fence> = args.next().and_then(|json| serde_json::from_str(json.to_str()?).ok());
        // Before the death signal, which a change of the user's rights may clear.
        let is_fenced = match fence.map(|fence| fence.erect()) {
            Some(Ok(is_fenced)) => is_fenced,
            Some(Err(e)) => return complain(&format!("no fence can be put up: {e}"), 1),
            None => return 2,
        };
        let Some(next) = args.next() else { return 0 };
        (program, is_free) = (next, !is_fenced);
    }
    signals::reset();
    let is_tied = processes::end_with_parent();
    // The supervisor may have died before the signal was set.
    let orphaned = rustix::process::getppid().map(|p| p.as_raw_nonzero().get().unsigned_abs()) != parent;
    if !is_tied || orphaned {
        return 1;
    }
    let (mut command, deadline) = (Command::new(&program), Instant::now() + IS_REPLACED);
    if is_free {
        complain("the system refuses a namespace of users or its mounts, so this agent has no fence", 0);
        command.env_remove(FENCE);
    }
    command.args(args);
    loop {
        let error = command.exec();
        // An update writes the program at this moment. The supervisor can still end this process.
        let (is_busy, program) = (error.kind() == io::ErrorKind::ExecutableFileBusy, program.to_string_lossy());
        if !is_busy {
            return complain(&format!("cannot run {program}: {error}"), 127);
        }
        if Instant::now() >= deadline {
            return complain(&format!("cannot run {program}{BEING_REPLACED} ({error})"), LATER);
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

/// True if the last line of an agent's standard error says that its program is being replaced, so that a later attempt can start it.
pub(crate) fn is_replaced(complaint: &str) -> bool {
    complaint.starts_with("relaunch: cannot run ") && complaint.contains(BEING_REPLACED)
}

/// Says why the agent did not start, and returns the exit status.
fn complain(why: &str, status: u8) -> u8 {
    // Not `eprintln!`, because it panics if the reader of standard error is gone.
    #[allow(clippy::disallowed_methods, reason = "this standard error is the file stderr.log")]
    let _ = writeln!(std::io::stderr(), "relaunch: {why}");
    status
}
