//! Starting a child workflow.
//!
//! The order is: check the limits, make the parent's await durable, make the child's first round durable, start its supervisor. If a watcher
//! runs, the watcher starts it.
//! A process that dies on the way leaves an await whose lock is free. The next spawn of the same task in the same round of the
//! parent takes that await over instead of starting a second child.
//!
//! A child that is a fork of its parent's session. It knows all that the parent knew when it started the child, and its requests begin
//! with the same bytes, so the API's prompt cache has them. The parent's session is not changed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::attempt::ending::Ending;
use crate::chain::bounds;
use crate::chain::in_turn::{self, InTurn};
use crate::chain::progress::{self, Progress};
use crate::money::budget::Allowance;
use crate::money::day::DayBudget;
use crate::recovery::{self, Recovered};
use crate::supervise::detach;
use crate::task::{self, ForkOf, Task};
use crate::{OwnState, Run, outcome, record};
use askbox_agent::{claude, transcript};
use askbox_config::Config;
use askbox_mailbox::{AttemptId, Ended, Error, Join, Mailbox, Result, WorkflowId, pause, presence, time, workflows};

/// The run that starts a child.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its workflow: the parent.
    pub workflow: WorkflowId,
    /// Its attempt, as in `ASKBOX_RUN`: `WORKFLOW/QUESTION/ATTEMPT`.
    pub run: String,
}

/// The task of the child.
#[derive(Debug, Clone)]
pub enum Instructions {
    /// The prompt, word for word.
    Prompt(String),
    /// A file that the child is told to read and follow.
    File(PathBuf),
}

/// A child to start.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// The run that starts it; `None` if the caller is not a run of askbox.
    pub caller: Option<Caller>,
    /// Its task.
    pub instructions: Instructions,
    /// The name of an agent that is defined for the agent program.
    pub agent: Option<String>,
    /// The name of a model.
    pub model: Option<String>,
    /// The child is a fork of the caller's session. Then it has the caller's agent, model and folder.
    pub fork: bool,
    /// Which children must end before the parent is woken: all that it waits for, or only this one.
    pub join: Join,
    /// The child's id; a new one if it is `None`.
    pub workflow: Option<WorkflowId>,
    /// The working folder of the caller.
    pub folder: Option<PathBuf>,
}

/// A child that was started, by this call or by an earlier one that was cut off.
#[must_use = "the parent is not woken before this is told, answered, or dropped"]
pub struct SpawnedChild<'a> {
    /// The child.
    pub child: WorkflowId,
    /// The reason why no supervisor could be started. The child is durable all the same: a watcher starts one.
    pub start_failed: Option<Error>,
    /// True if this process has started the child, because no watcher runs. The child has the environment of this process then, and
    /// stays in its sandbox.
    pub is_started_here: bool,
    mailbox: &'a Mailbox,
    wait: Option<InTurn<'a>>,
}

impl SpawnedChild<'_> {
    /// Waits until the child ends, asks, or the time is over.
    pub fn wait(&self, deadline: Instant) -> Result<Progress> {
        progress::wait(self.mailbox, &self.child, Some(deadline))
    }

    /// Gives the parent its child's end through `print`; see [`InTurn::tell`].
    pub fn tell(self, ended: &Ended, print: impl FnOnce() -> Result<()>) -> Result<()> {
        in_turn::tell(self.wait, ended, print)
    }

    /// Notes that the caller knows the child's id and ends its turn. The parent will be woken.
    pub fn answered(self) -> Result<()> {
        self.wait.map_or(Ok(()), |wait| wait.answered())
    }
}

/// Starts a child, or takes over an earlier spawn of the same task that was cut off.
///
/// # Errors
/// [`Error::Conflict`] if a limit of the tree or the day's budget is reached, if the id is taken, or if the caller's session cannot be
/// forked.
pub fn spawn<'a>(mailbox: &'a Mailbox, config: &Config, request: SpawnRequest) -> Result<SpawnedChild<'a>> {
    let child = request.workflow.clone().unwrap_or_else(WorkflowId::generate);
    let parent = request.caller.as_ref().map(|caller| caller.workflow.clone());
    let mut task = task(mailbox, &request, child, parent.as_ref())?;
    if request.fork {
        task = inherit(mailbox, config, task, &request)?;
    }
    let id = request.caller.as_ref().and_then(|caller| in_turn::request_id(&caller.run, &task, request.instructions.file().as_deref()));
    let cut_off = match (&parent, id) {
        (Some(parent), Some(id)) => InTurn::take_over(mailbox, parent, id, request.workflow.as_ref())?,
        _ => None,
    };
    let (wait, begun) = match cut_off {
        Some(cut_off) => {
            task.workflow = cut_off.child.clone();
            let begun = outcome::own_state(mailbox, &task.workflow)? != OwnState::Unknown;
            if !begun {
                check_money(mailbox, config, parent.as_ref())?;
            }
            (Some(cut_off), begun)
        }
        None => {
            bounds::check_is_new(mailbox, parent.as_ref(), &task.workflow)?;
            if let Some(parent) = &parent {
                bounds::check_depth(mailbox, &config.chain, parent)?;
            }
            check_money(mailbox, config, parent.as_ref())?;
            let begin = |parent| InTurn::begin(mailbox, &config.chain, parent, &task.workflow, request.join, id);
            (parent.as_ref().map(begin).transpose()?, false)
        }
    };
    let child = task.workflow.clone();
    // The watcher starts what a run awaits: it is in no sandbox, and has the PATH that the operator gave it.
    let is_started_here = wait.is_none() || !presence::anybody(mailbox)?;
    let start_failed;
    if begun {
        start_failed = pause::check(mailbox).err();
        if start_failed.is_none() && is_started_here {
            take_up(mailbox, config, &child)?;
        }
    } else {
        let run = task::begin(mailbox, config, task).inspect_err(|_| {
            if let Some(wait) = &wait {
                let _ = wait.remove();
            }
        })?;
        start_failed = pause::check(mailbox).and_then(|()| if is_started_here { detach::start(mailbox, &run) } else { Ok(()) }).err();
    }
    Ok(SpawnedChild { child, start_failed, is_started_here, mailbox, wait })
}

/// Starts a supervisor for a child whose spawn died before it did.
fn take_up(mailbox: &Mailbox, config: &Config, child: &WorkflowId) -> Result<()> {
    let Some(round) = outcome::claimed_round(mailbox, child) else { return Ok(()) };
    match recovery::recover(mailbox, config, &round)? {
        Recovered::Launch(run) | Recovered::Claimed(run) => detach::start(mailbox, &run),
        _ => Ok(()),
    }
}

impl Instructions {
    /// The file, with links resolved.
    fn file(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => file.canonicalize().ok(),
            Self::Prompt(_) => None,
        }
    }
}

/// Checks that the tree's limits and the day's budget allow another run.
fn check_money(mailbox: &Mailbox, config: &Config, parent: Option<&WorkflowId>) -> Result<()> {
    if let Some(parent) = parent
        && let Some(Ending::Refused { why, .. }) = Allowance::of_tree(mailbox, config, parent)?.refusal()
    {
        let hint = "end your turn and say what is missing; the operator can raise the limit and go on from there";
        return Err(Error::conflict(why, hint));
    }
    match DayBudget::at(mailbox, config, time::now())? {
        DayBudget::Available => Ok(()),
        DayBudget::Spent { until, why } => {
            let hint = format!("nothing is launched before {}; end your turn and say what is missing", time::rfc3339(until));
            Err(Error::conflict(why, hint))
        }
        // The parent's own reservation is part of this. If the child waited for it, parent and child would wait for each other.
        DayBudget::Reserved { why } => {
            Err(Error::conflict(why, "end your turn and say what is missing; a smaller limits.run_cost leaves room for children"))
        }
    }
}

/// The child's first task. The child works in the caller's folder if that lies below the parent's, otherwise in the parent's.
fn task(mailbox: &Mailbox, request: &SpawnRequest, child: WorkflowId, parent: Option<&WorkflowId>) -> Result<Task> {
    let parents_folder = match parent {
        Some(parent) => workflows::read(mailbox, parent)?.and_then(|d| d.typed.cwd),
        None => None,
    };
    let is_below = |folder: &Path, above: &Path| {
        folder.canonicalize().ok().zip(above.canonicalize().ok()).is_some_and(|(folder, above)| folder.starts_with(above))
    };
    let cwd = match (&request.folder, parents_folder) {
        (Some(folder), Some(parents)) if is_below(folder, &parents) => Some(folder.clone()),
        (_, Some(parents)) => Some(parents),
        (folder, None) => folder.clone(),
    };
    let mut reads = Vec::new();
    let prompt = match &request.instructions {
        Instructions::Prompt(prompt) => prompt.clone(),
        Instructions::File(file) => {
            let path = file
                .canonicalize()
                .map_err(|_| Error::not_found(format!("there is no file {}", file.display()), "name the file with the instructions"))?;
            // The agent reads the file later, and a pipe would be empty by then.
            if !path.is_file() {
                let fix = "name a regular file, or send the text on standard input and name `-`";
                return Err(Error::invalid("file", "is not a regular file", fix).in_file(path));
            }
            if parent.is_none() {
                // A person named the file, so the agent may read it. A file that an agent names gets no such permission.
                reads.push(path.clone());
            }
            format!("Read {} and follow its instructions.", path.display())
        }
    };
    check_names(request)?;
    Ok(Task { cwd, parent: parent.cloned(), role: request.agent.clone(), model: request.model.clone(), reads, ..Task::new(child, prompt) })
}

/// Refuses texts that cannot be a name. The agent program refuses names that it does not know.
fn check_names(request: &SpawnRequest) -> Result<()> {
    let is_name = |v: &str| !v.trim().is_empty() && v.len() <= 1024 && !v.starts_with('-') && !v.contains(char::is_control);
    let is_word = |v: &str| is_name(v) && v.len() <= 200 && v.chars().all(|c| c.is_ascii_graphic());
    for (flag, value, is_valid) in [("--agent", &request.agent, &is_name as &dyn Fn(&str) -> bool), ("--model", &request.model, &is_word)] {
        if value.as_deref().is_some_and(|v| !is_valid(v)) {
            return Err(Error::usage(format!("{flag}: not a valid name"), "use the name as `claude` takes it"));
        }
    }
    Ok(())
}

/// Finds the session of the run that starts the fork, and checks that it can be forked so that its requests begin with the same bytes.
/// The task takes over that session, its working folder, its agent definition and its model.
///
/// # Errors
/// [`Error::Usage`] if no run starts it. [`Error::Conflict`] if the session has no transcript, or if the child would run in another folder
/// or by another runner.
fn inherit(mailbox: &Mailbox, config: &Config, task: Task, request: &SpawnRequest) -> Result<Task> {
    let Some(Caller { workflow, run }) = &request.caller else {
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
    if let (Some(folder), Some(parents)) = (&request.folder, &parent.cwd)
        && !is_same(folder, parents)
    {
        let said = format!("{workflow} runs in {}, and a fork of its session can only work there", parents.display());
        return refused(said, format!("first: cd {}", askbox_mailbox::text::path_word(parents)));
    }
    if transcript_of(&parent).is_none() {
        let said = format!("the session of {workflow} has no transcript");
        return refused(said, "let the agent program keep transcripts".into());
    }
    let fork = ForkOf { session: parent.session_id, of: Some(workflow.clone()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_the_instruction_file_makes_the_same_request() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("task.md"), folder.path().join("link.md"));
        std::fs::write(&file, "Count to three.").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let task = Task::new("child".parse().unwrap(), "the prompt");
        let id = |file: PathBuf| in_turn::request_id("parent/round/1", &task, Instructions::File(file).file().as_deref());
        assert!(id(link.clone()).is_some());
        assert_eq!(id(link), id(file));
    }
}
