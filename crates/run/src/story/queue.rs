//! The queue of launches: open, paused, or trying one run.

use serde::Serialize;

use crate::breaker::shared_file;
use crate::breaker::state_machine::{BreakerPermit, BreakerState, Settings};
use crate::money::day::DayBudget;
use crate::story::kind::Cause;
use askbox_config::Config;
use askbox_mailbox::{Mailbox, Result, Time, pause, time};

/// The state of the launches of answered questions.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Queue {
    /// The launches that are possible.
    pub state: QueueState,
    /// The end of the pause, if it is known.
    pub until: Option<Time>,
    /// The reason why the queue is not open.
    pub why: Option<String>,
    /// The kind of reason, for programs. Missing if the queue is open.
    pub cause: Option<Cause>,
    /// The number of failed runs that the breaker counts.
    pub failures: usize,
}

/// The launches that are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum QueueState {
    /// As many as `relaunch.max_concurrent` allows.
    Open,
    /// None: the operator holds the queue, or the breaker or the day's limit forbids it.
    Paused,
    /// One, to find out if runs succeed again.
    Probing,
}

askbox_mailbox::words!(QueueState);

/// The state of the queue.
///
/// # Errors
/// If the file of the breaker or of the day's costs cannot be read.
pub fn of(mailbox: &Mailbox, config: &Config) -> Result<Queue> {
    let breaker = shared_file::read(mailbox)?;
    let failures = breaker.failures.len();
    let open = Queue { state: QueueState::Open, until: None, why: None, cause: None, failures };
    let paused = |until, why, cause| Queue { state: QueueState::Paused, until, why: Some(why), cause: Some(cause), ..open.clone() };
    if let Some(how) = pause::held(mailbox) {
        return Ok(paused(None, how, Cause::Held));
    }
    let why = breaker.why().map(str::to_owned).unwrap_or_default();
    let cause = if breaker.waits_for_program() { Cause::NoProgram } else { Cause::Failures };
    Ok(match (breaker.permit(Settings::from_config(&config.relaunch), time::now()), &breaker.state) {
        (BreakerPermit::NotBefore(until), _) => paused(Some(until), why, cause),
        (_, BreakerState::Open { .. } | BreakerState::Probing { .. }) => Queue { state: QueueState::Probing, ..paused(None, why, cause) },
        (_, BreakerState::Closed) => match DayBudget::at(mailbox, config, time::now())? {
            DayBudget::Spent { until, why } => paused(Some(until), why, Cause::DayCost),
            DayBudget::Reserved { why } => paused(None, why, Cause::DayCostReserved),
            DayBudget::Available => open,
        },
    })
}
