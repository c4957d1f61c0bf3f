//! A task: a run that begins with a prompt instead of an answered question (`relaunch run`, `relaunch spawn`). It is a round of a
//! workflow like any other, but is created in `running/`, already claimed; it is delivered, retried, stopped, recovered and parked
//! in the same way.

use crate::attempt::record::{self, Begin, Run};
use crate::claim::{moved_folder, plan};
use askbox_config::Config;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::documents::question::{MAX_ANSWERED, MAX_QUESTION};
use askbox_mailbox::{
    Document, Error, Folder, Lock, Mailbox, Placed, Question, QuestionId, Result, RoundId, SessionId, Trace, WorkflowId, disk, list,
    recent_rounds, workflows,
};

/// The longest prompt, in bytes. It is half of the largest question document, which contains the prompt.
pub const MAX_PROMPT: usize = (MAX_QUESTION as usize) / 2;

/// A prompt for an agent, and how to run it.
#[derive(Debug, Clone)]
pub struct Task {
    /// The id of the task's workflow.
    pub workflow: WorkflowId,
    /// The prompt, sent unchanged.
    pub prompt: String,
    /// The working folder of the agent.
    pub cwd: Option<std::path::PathBuf>,
    /// The workflow whose run started the task.
    pub parent: Option<WorkflowId>,
    /// The agent definition that the session runs as.
    pub role: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Files that the agent may read without permission; the prompt names them.
    pub reads: Vec<std::path::PathBuf>,
    /// The session that the task's session is a fork of.
    pub fork: Option<ForkOf>,
}

/// A session to fork for a task.
#[derive(Debug, Clone)]
pub struct ForkOf {
    /// The session. It is not changed.
    pub session: SessionId,
    /// The workflow that it was launched for, if askbox launched it.
    pub of: Option<WorkflowId>,
}

impl Task {
    /// A task with defaults for everything but the prompt.
    pub fn new(workflow: WorkflowId, prompt: impl Into<String>) -> Self {
        Self { workflow, prompt: prompt.into(), cwd: None, parent: None, role: None, model: None, reads: Vec::new(), fork: None }
    }
}

/// Writes the task to the mailbox, durably, and claims it for the caller, who supervises the returned attempt. If the caller dies,
/// recovery launches the attempt.
///
/// # Errors
/// [`Error::Usage`] for an empty prompt, [`Error::Invalid`] for a prompt over [`MAX_PROMPT`], [`Error::Conflict`] if the workflow has
/// a round in `running/`.
pub fn begin(mailbox: &Mailbox, config: &Config, task: Task) -> Result<Run> {
    if task.prompt.trim().is_empty() {
        return Err(Error::usage("the prompt is empty", "name a file with the prompt, or `-` for standard input"));
    }
    if task.prompt.len() > MAX_PROMPT {
        let fix = "put the bulk into a file and name its path in the prompt";
        return Err(Error::invalid("prompt", format!("is {} bytes long, the limit is {MAX_PROMPT}", task.prompt.len()), fix));
    }
    let lock = mailbox.lock(&task.workflow)?;
    if let Some(busy) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == task.workflow) {
        let hint = format!("follow it: relaunch logs -f {}", task.workflow);
        return Err(Error::conflict(format!("{} already has a run (round {})", task.workflow, busy.question), hint));
    }
    let round = RoundId { workflow: task.workflow.clone(), question: QuestionId::generate() };
    let question = Question {
        question_id: Some(round.question),
        timestamp: Some(askbox_mailbox::time::rfc3339(askbox_mailbox::time::now())),
        cwd: task.cwd,
        config_dir: std::env::var_os(askbox_agent::claude::CONFIG_DIR).filter(|v| !v.is_empty()).map(Into::into),
        parent: task.parent,
        trace: Trace::of_environment().ok().flatten(),
        prompt: Some(task.prompt.clone()),
        reads: task.reads,
        ..Question::new(task.workflow, askbox_mailbox::text::excerpt(&task.prompt, 200))
    };
    // Measured before anything is written, because control characters of the prompt take six bytes each.
    let file = Document::new(question.clone())?.to_file_within(MAX_ANSWERED)?;
    let mut run = plan::first(mailbox, config, &question, &round)?;
    run.role = task.role.or(run.role);
    run.model = task.model.or(run.model);
    if let Some(ForkOf { session, of }) = task.fork {
        run.begin = Begin::Fork { from: session, of };
    }
    recent_rounds::make_folder(mailbox, &round)?;
    let _held = Lock::try_acquire(&record::lock_path(mailbox, &round))?;
    // The attempt is written first: as soon as the document lies in running/, recovery may find it.
    record::create(mailbox, &run)?;
    workflows::update(mailbox, &lock, |w| {
        w.parent = w.parent.take().or_else(|| question.parent.clone());
        (w.role, w.model) = (run.role.clone(), run.model.clone());
        moved_folder::note(w, run.cwd.as_deref());
        w.config_dir = run.config_dir.clone().or_else(|| w.config_dir.take());
    })?;
    if disk::create(&mailbox.round(Folder::Running, &round), &file)? == Placed::NameExists {
        return Err(Error::conflict(format!("{round} exists already"), "repeat the command"));
    }
    audit::record(mailbox, Entry::about_round("started", &round).by("relaunch run"));
    Ok(run)
}
