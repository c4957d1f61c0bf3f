//! `relaunch ID`, `relaunch run` and `relaunch retry`: one run, supervised by this process and printed as it goes.

use std::path::Path;

use crate::config;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::run::on_demand::{self, RunNow};
use crate::run::recovery;
use crate::run::task::{self, Task};
use crate::surface::program;
use crate::surface::relaunch::{foreground, refusals};

/// `relaunch ID`: claims the answer and runs it, or goes on with a run that was stopped.
pub fn run_now(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    match on_demand::run_now(mailbox, &config, workflow)? {
        RunNow::Supervise(attempt) => foreground::run(mailbox, config, attempt, json),
        RunNow::Delivered => Ok(0),
        RunNow::Refused(refused) => Err(refusals::error_of(mailbox, workflow, refused)),
    }
}

/// `relaunch retry ID`.
pub fn retry(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    if recovery::take_from_quarantine(mailbox, workflow)? {
        return run_now(mailbox, workflow, json);
    }
    let config = config::load()?.config;
    let run = recovery::retry(mailbox, &config, workflow)?;
    foreground::run(mailbox, config, (&run).into(), json)
}

/// `relaunch run FILE`, `relaunch run --prompt TEXT`.
pub fn run_prompt(mailbox: &Mailbox, file: Option<&Path>, prompt: Option<String>, workflow: Option<WorkflowId>, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let prompt = match (file, prompt) {
        (None, Some(prompt)) => prompt,
        (Some(file), None) => read_prompt(file)?,
        _ => return Err(Error::usage("the agent has no prompt", "relaunch run FILE.md, or relaunch run --prompt TEXT")),
    };
    let task = Task {
        cwd: std::env::current_dir().ok(),
        parent: program::workflow_from_env("ASKBOX_WORKFLOW_ID")?,
        ..Task::new(workflow.unwrap_or_else(WorkflowId::generate), prompt)
    };
    let run = task::begin(mailbox, &config, task)?;
    foreground::run(mailbox, config, (&run).into(), json)
}

fn read_prompt(file: &Path) -> Result<String> {
    let bytes = program::read_input(file, task::MAX_PROMPT as u64)?;
    String::from_utf8(bytes).map_err(|e| {
        let problem = format!("is not valid UTF-8 (byte {})", e.utf8_error().valid_up_to());
        Error::invalid("prompt", problem, "save it as UTF-8").in_file(file)
    })
}
