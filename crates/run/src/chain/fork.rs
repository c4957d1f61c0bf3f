//! A child that is a fork of its parent's session. It knows all that the parent knew when it started the child, and its requests begin
//! with the same bytes, so the API's prompt cache has them. The parent's session is not changed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::attempt::record::{self, Run};
use crate::task::{ForkOf, Task};
use askbox_agent::{claude, transcript};
use askbox_config::Config;
use askbox_mailbox::{AttemptId, Error, Mailbox, Result, WorkflowId};

/// The workflow and the attempt that start a fork, if a run does.
type Caller<'a> = Option<(&'a WorkflowId, &'a str)>;

/// Finds the session of the run that starts the fork, and checks that it can be forked so that its requests begin with the same bytes.
/// The task takes over that session, its working folder, its agent definition and its model. `folder` is the working folder of that
/// agent's shell.
///
/// # Errors
/// [`Error::Usage`] if no run starts it. [`Error::Conflict`] if the session has no transcript, or if the child would run in another folder
/// or by another runner.
pub(super) fn inherit(mailbox: &Mailbox, config: &Config, task: Task, caller: Caller<'_>, folder: Option<&Path>) -> Result<Task> {
    let Some((workflow, run)) = caller else {
        let hint = "call it in the shell of an agent that askbox started, or leave --fork out";
        return Err(Error::usage("--fork: no run of askbox calls this, so there is no session to fork", hint));
    };
    let id: AttemptId = run.parse()?;
    let parent = record::read(mailbox, &id.round, id.attempt)?;
    let refused =
        |what: String, instead: String| Err(Error::conflict(format!("--fork: {what}"), format!("{instead}, or leave --fork out")));
    let child = &task.workflow;
    let (runner, _) = config.runner_of(child)?;
    if parent.runner != runner {
        let said = format!("{workflow} runs with [runner.{}], and {child} with [runner.{runner}]", parent.runner);
        return refused(said, "give it an id that the same runner runs".into());
    }
    if let (Some(folder), Some(parents)) = (folder, &parent.cwd)
        && !is_same(folder, parents)
    {
        let said = format!("{workflow} runs in {}, and a fork of its session can only work there", parents.display());
        return refused(said, format!("first: cd {}", askbox_mailbox::text::path_word(parents)));
    }
    if transcript_of(&parent).is_none() {
        let said = format!("the session of {workflow} has no transcript");
        return refused(said, "let the agent program keep transcripts".into());
    }
    let fork = ForkOf { session: parent.session_id, of: workflow.clone() };
    Ok(Task { cwd: parent.cwd, role: parent.role, model: parent.model, fork: Some(fork), ..task })
}

/// The transcript of the run that calls this. Its first message may be on its way.
fn transcript_of(run: &Run) -> Option<PathBuf> {
    let dir = run.config_dir.clone().or_else(|| claude::config_dir(|n| std::env::var_os(n)))?;
    transcript::wait_for(&dir, &run.session_id.to_string(), Instant::now() + transcript::FIRST_MESSAGE)
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
}
