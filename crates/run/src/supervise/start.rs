//! Starts the process of a claimed attempt and gives it the round. The kind of the workflow's runner decides how.

use crate::money::budget::Allowance;
use crate::supervise::started_agent::{Launch, Started};
use crate::supervise::{start_acp, start_agent, start_program};
use askbox_config::RunnerKind;
use askbox_mailbox::error::Result;

/// Launches the agent or the program of an attempt.
pub(crate) fn start(launch: Launch<'_, '_>, allowance: &Allowance) -> Result<Started> {
    // The operator decides at each launch. The runner that the record has from an earlier launch is not a permission.
    let (name, runner) = launch.config.runner_of(&launch.attempt.run.workflow_id)?;
    launch.attempt.run.runner = name;
    match runner.kind {
        RunnerKind::Claude => start_agent::start(launch, &runner, allowance),
        RunnerKind::Program => start_program::start(launch, &runner),
        RunnerKind::Acp => start_acp::start(launch, &runner),
    }
}
