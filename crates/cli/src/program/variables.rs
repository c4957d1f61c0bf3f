//! The environment of a program: variables, the working folder, the user's name, and whether a person sits at a terminal.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use askbox_mailbox::documents::fields::asked_in::{AskedIn, NONCE, Nonce};
use askbox_mailbox::id::AttemptId;
use askbox_mailbox::{Error, Result, WorkflowId, text};

/// The workflow that `$WORKFLOW_ID`, or else `$ASKBOX_WORKFLOW_ID`, names.
///
/// # Errors
/// [`Error::Invalid`] if the value is not a workflow id.
pub fn current_workflow() -> Result<Option<WorkflowId>> {
    Ok(workflow_from_env("WORKFLOW_ID")?.or(workflow_from_env("ASKBOX_WORKFLOW_ID")?))
}

/// The workflow id in an environment variable, or `None` if the variable is unset or empty.
///
/// # Errors
/// [`Error::Invalid`] if the value is not a workflow id.
pub fn workflow_from_env(name: &str) -> Result<Option<WorkflowId>> {
    let Some(value) = env(name) else { return Ok(None) };
    value.parse().map(Some).map_err(|e| match e {
        Error::Invalid { file, problem, fix, .. } => Error::Invalid { file, field: format!("${name}"), problem, fix },
        other => other,
    })
}

/// The run whose agent called this program, as the environment says, with the proof.
pub fn this_run() -> Option<AskedIn> {
    let (run, nonce) = run_and_nonce()?;
    Some(AskedIn { run, proof: nonce.proof() })
}

/// The run whose agent called this program, as the environment says, with its secret.
pub fn run_and_nonce() -> Option<(AttemptId, Nonce)> {
    Some((env("ASKBOX_RUN")?.parse().ok()?, Nonce::parse(&env(NONCE)?)?))
}

/// The value of an environment variable, or `None` if it is unset or empty.
pub fn env(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|v| !v.is_empty()).map(|v| v.to_string_lossy().into_owned())
}

/// The user's name: `$USER`, else `$LOGNAME`, else `user` and the numeric id.
pub fn user() -> String {
    env("USER").or_else(|| env("LOGNAME")).unwrap_or_else(|| format!("user {}", rustix::process::geteuid().as_raw()))
}

/// True if standard input and output are a terminal, so that a person can be asked.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && prints_to_terminal()
}

/// True if standard output is a terminal.
pub fn prints_to_terminal() -> bool {
    #[allow(clippy::disallowed_methods, reason = "nothing is written to it")]
    let out = io::stdout();
    out.is_terminal()
}

/// True if standard error is a terminal, so that a person reads what a program says while it waits.
pub fn says_to_terminal() -> bool {
    #[allow(clippy::disallowed_methods, reason = "nothing is written to it")]
    let err = io::stderr();
    err.is_terminal()
}

/// The text of a path that a document is to name.
///
/// # Errors
/// [`Error::Usage`] with the path, if it is not UTF-8: a document is JSON, and JSON cannot name it.
pub fn in_a_document(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        let problem = format!("the path {} is not UTF-8, so no document can name it", text::path_word(path));
        Error::usage(problem, "rename that folder or file; or name a file in another folder by its absolute path")
    })
}

/// The working folder, for a document: an agent is launched there.
///
/// # Errors
/// [`Error::Usage`] if the folder was deleted, or if its path is not UTF-8.
pub fn working_folder() -> Result<PathBuf> {
    let folder = std::env::current_dir().map_err(|e| {
        let problem = format!("the working folder cannot be named, so no agent could go on in it: {e}");
        Error::usage(problem, "cd to a folder that exists")
    })?;
    in_a_document(&folder)?;
    Ok(folder)
}
