//! The agent's arguments and environment: from the operator's configuration, the attempt, and the question.

use std::ffi::OsString;
use std::path::Path;

use crate::agent::claude::{self, Invocation};
use crate::config::Runner;
use crate::mailbox::documents::fields::asked_in::{NONCE, Nonce};
use crate::mailbox::{Mailbox, Question};
use crate::run::attempt::record::Run;
use crate::run::process::programs::relaunch;
use crate::run::process::session_start::SessionStart;
use crate::run::prompt::readable_files;

/// The environment variable with the time limit, in milliseconds, of the agent's Bash calls that set none themselves.
pub const BASH_TIMEOUT: &str = "BASH_DEFAULT_TIMEOUT_MS";
/// The longest limit that the agent's Bash accepts.
const LONGEST_BASH_MS: &str = "600000";

/// The call of the agent for an attempt. `settings`: askbox's own, as JSON.
#[must_use]
pub fn of(
    mailbox: &Mailbox,
    question: &Question,
    run: &Run,
    runner: &Runner,
    start: &SessionStart,
    settings: &str,
    nonce: &Nonce,
) -> Invocation {
    let program = Path::new(&runner.program);
    let session = run.plan.session_id.to_string();
    let mut call = match start {
        SessionStart::New => Invocation::start(program, &session),
        SessionStart::Continue => Invocation::resume(program, &session),
        SessionStart::Fork(from) => Invocation::fork(program, from, &session),
    };
    if runner.dangerously_skip_permissions {
        call.args.push("--dangerously-skip-permissions".into());
    } else if !runner.permission_mode.is_empty() {
        call = call.permission_mode(&runner.permission_mode);
    }
    if !runner.task_tool {
        call = call.without_task_tool();
    }
    // The agent may read the files that its prompt names.
    let readable = readable_files::named(mailbox, question, run).into_iter().filter_map(|path| claude::may_read(&path));
    // Ours would replace the operator's own --settings. With those, a run cannot be stopped at a tool boundary.
    if without_our_settings(runner).is_none() {
        call = call.settings(settings);
    }
    call = call
        .allowed_tools(readable)
        .allowed_tools(&runner.allowed_tools)
        .extra_args(&runner.args)
        .scrub(std::env::vars_os().map(|(name, _)| name));
    for (option, value) in [("--model", &run.plan.model), ("--agent", &run.plan.role)] {
        call.args.extend(value.iter().map(|v| format!("{option}={v}").into()));
    }
    // `relaunch spawn` waits inside the agent's Bash, so that may take as long as it can.
    if std::env::var_os(BASH_TIMEOUT).is_none() {
        call = call.env(BASH_TIMEOUT, LONGEST_BASH_MS);
    }
    if let Some(dir) = &run.plan.config_dir {
        call = call.config_dir(dir);
    }
    if let Some(path) = path_with_our_programs() {
        call = call.env("PATH", path);
    }
    for (name, value) in environment(mailbox, run, nonce) {
        call = call.env(name, value);
    }
    runner.env.iter().fold(call, |call, (name, value)| call.env(name, value))
}

/// The operator's own argument because of which the agent does not get askbox's settings, and so none of its hooks.
#[must_use]
pub fn without_our_settings(runner: &Runner) -> Option<&str> {
    runner.args.iter().map(String::as_str).find(|arg| arg.starts_with("--settings"))
}

/// What the agent's environment says about its run, for `ask-post` and `relaunch spawn` in the agent's Bash.
fn environment(mailbox: &Mailbox, run: &Run, nonce: &Nonce) -> [(&'static str, String); 6] {
    let id = run.workflow_id.as_str();
    [
        ("ASKBOX_DIR", mailbox.root().display().to_string()),
        ("ASKBOX_WORKFLOW_ID", id.to_owned()),
        ("WORKFLOW_ID", id.to_owned()),
        ("ASKBOX_SESSION_ID", run.plan.session_id.to_string()),
        ("ASKBOX_RUN", run.token()),
        (NONCE, nonce.to_env()),
    ]
}

/// PATH with the folder of askbox's programs at its end: the agent's Bash calls `ask-post` and `checkpoint` by name.
fn path_with_our_programs() -> Option<OsString> {
    let ours = relaunch().ok()?.parent()?.to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Only once, however deep runs are nested.
    std::env::join_paths(std::env::split_paths(&path).filter(|p| !p.as_os_str().is_empty() && *p != ours).chain([ours.clone()])).ok()
}
