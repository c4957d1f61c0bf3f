//! `relaunch exec ID -- PROGRAM…`: claims the answer of a workflow, and runs a program with it here, by the contract of `kind = "program"`.

use std::path::Path;

use crate::relaunch::{foreground, refusals};
use askbox_cli::Context;
use askbox_config::{Config, Runners};
use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, pause};
use askbox_run::on_demand::{self, RunNow};
use askbox_run::programs;

/// Claims the round of a workflow and runs the program with it. `program` is the program and its arguments.
pub fn exec(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, program: &[String], json: bool) -> Result<u8> {
    pause::check(mailbox)?;
    let Some((program, args)) = program.split_first() else {
        return Err(Error::usage("no program is given", format!("relaunch exec {workflow} -- PROGRAM")));
    };
    // The program starts in the folder of the question. So its path must not depend on the folder of this command. A program that cannot
    // be started must not take the answer.
    let file = programs::find(Path::new(program))?;
    let file = std::path::absolute(&file).unwrap_or(file);
    let file = file.to_str().ok_or_else(|| Error::usage("the path of the program is not UTF-8", "name another program"))?;
    let runner = Runners::only(file.to_owned(), args.to_vec());
    let config = Config { runner, ..context.config()? };
    match on_demand::exec_now(mailbox, &config, workflow)? {
        RunNow::Supervise(attempt) => foreground::run_once(mailbox, &config, attempt, json),
        RunNow::Delivered => Ok(0),
        RunNow::Refused(refused) => Err(refusals::error_of(mailbox, context, workflow, refused)),
    }
}
