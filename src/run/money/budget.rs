//! What a launch may spend: the limits are checked before each launch, and the agent gets what is left as `--max-budget-usd`, which
//! counts the spending of one process.
//!
//! The rounds of a workflow go in order, so only one run at a time spends the limit of a workflow. The day's limit is shared by all
//! runs: under the lock `locks/costs` a run reserves its part in its own `run.json` before it launches. A reservation counts
//! while the run's lock is held, so it ends with the run, even if the run is killed. What was spent of it is booked.

use std::path::PathBuf;
use std::time::Duration;

use crate::agent::claude::Invocation;
use crate::config::{Config, Limits};
use crate::disk::Lock;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::run::attempt::ending::Ending;
use crate::run::attempt::failure::Class;
use crate::run::attempt::record::{self, Run};
use crate::run::money::costs;
use crate::run::money::day::Day;
use crate::run::money::used::Tree;
use crate::time;

const DAY: &str = "limits.day_cost";
const TREE_COST: &str = "limits.tree_cost";
const TREE_TIME: &str = "limits.tree_time";
const MAX_BUDGET: &str = "--max-budget-usd";
pub(crate) const MAX_TURNS: &str = "--max-turns";

/// Whether the arguments of a call set an option.
pub(crate) fn says(call: &Invocation, option: &str) -> bool {
    call.args.iter().any(|a| a.to_string_lossy().starts_with(option))
}

fn lock_path(mailbox: &Mailbox) -> PathBuf {
    mailbox.lock_file("costs")
}

/// A limit of the configuration and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limit<T> {
    key: &'static str,
    limit: T,
    left: T,
}

fn least(limits: &[Limit<f64>]) -> Option<Limit<f64>> {
    limits.iter().copied().min_by(|a, b| a.left.total_cmp(&b.left))
}

/// What a launch may spend.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Allowance {
    /// Of the limits on money (in US dollars), the one that leaves the least.
    tightest: Option<Limit<f64>>,
    /// The limit on the tree's time at work.
    time: Option<Limit<Duration>>,
    /// The day's limit is not spent, but all that is left is reserved for other runs.
    held: bool,
}

impl Allowance {
    /// What this attempt may spend now. Reserves its part of the day's limit in its record. Reads nothing if no limit is set.
    pub fn take(mailbox: &Mailbox, config: &Config, run: &mut Run) -> Result<Self> {
        let Limits { run_cost, workflow_cost, day_cost, .. } = config.limits;
        let mut limits = Vec::new();
        if run_cost > 0.0 {
            let left = run_cost - costs::of_round(mailbox, &run.round())?.unwrap_or(0.0);
            limits.push(Limit { key: "limits.run_cost", limit: run_cost, left });
        }
        let left_of_round = limits.first().map(|limit| limit.left);
        if workflow_cost > 0.0 {
            let left = workflow_cost - costs::of_workflow(mailbox, &run.workflow_id)?;
            limits.push(Limit { key: "limits.workflow_cost", limit: workflow_cost, left });
        }
        let tree = Self::of_tree(mailbox, config, &run.workflow_id)?;
        limits.extend(tree.tightest);
        let mut held = false;
        if day_cost > 0.0 && least(&limits).is_none_or(|tightest| tightest.left > 0.0) {
            let _lock = Lock::acquire(&lock_path(mailbox))?;
            if let Some(day) = Day::of(mailbox, config, time::now(), Some(&run.round()))? {
                let slots = config.relaunch.max_concurrent.saturating_sub(day.runs).max(1);
                // A run without a limit of its own gets an even part, so that something is left for the next one.
                let left = left_of_round.map_or(day.free() / slots as f64, |left| left.min(day.free()));
                limits.push(Limit { key: DAY, limit: day.limit, left });
                held = day.spent < day.limit && day.free() <= 0.0;
                run.progress.reserved_usd = least(&limits).map(|tightest| tightest.left).filter(|left| *left > 0.0);
                record::write(mailbox, run)?;
            }
        }
        Ok(Self { tightest: least(&limits), held, ..tree })
    }

    /// What the tree of a workflow may still use. Reads nothing if no limit is set.
    pub fn of_tree(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Self> {
        let (cost, time) = (config.limits.tree_cost, config.limits.tree_time.0);
        if cost <= 0.0 && time.is_zero() {
            return Ok(Self::default());
        }
        let tree = Tree::of(mailbox, workflow)?;
        let tightest = if cost > 0.0 { Some(Limit { key: TREE_COST, limit: cost, left: cost - tree.cost(mailbox)? }) } else { None };
        let used = || tree.time(mailbox, config.limits.run_time.0);
        let time = if time.is_zero() { None } else { Some(Limit { key: TREE_TIME, limit: time, left: time.saturating_sub(used()?) }) };
        Ok(Self { tightest, time, held: false })
    }

    /// How long the tree may still be at work; `None` if no limit is set.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        self.time.map(|time| time.left)
    }

    /// The ending of the attempt if nothing may be launched.
    #[must_use]
    pub fn refusal(&self) -> Option<Ending> {
        if let Some(Limit { key, limit, .. }) = self.time.filter(|time| time.left.is_zero()) {
            let why = format!("nothing is left of {key} = {} for its whole tree", time::human(limit));
            return Some(Ending::Refused { class: Class::Tree, why });
        }
        let Limit { key, limit, .. } = self.tightest.filter(|tightest| tightest.left <= 0.0)?;
        Some(match key {
            DAY if self.held => Ending::Held { why: format!("all that is left of {key} = {limit} USD is reserved for live runs") },
            // The next day mends it.
            DAY => Ending::Held { why: format!("{key} = {limit} USD is used up for this day") },
            TREE_COST => Ending::Refused { class: Class::Tree, why: format!("nothing is left of {key} = {limit} USD for its whole tree") },
            _ => Ending::Refused { class: Class::Budget, why: format!("nothing is left of {key} = {limit} USD") },
        })
    }

    /// Adds the limits to the agent's arguments; the one on money only if the operator's own arguments do not set it.
    #[must_use]
    pub fn limit(&self, mut call: Invocation, turns: Option<u32>) -> Invocation {
        if let Some(Limit { left, .. }) = self.tightest.filter(|_| !says(&call, MAX_BUDGET)) {
            // Rounded down, except for the error of binary fractions: the sum of all parts must not exceed the limit.
            call = call.extra_args([format!("{MAX_BUDGET}={:.6}", (left * 1e6 + 1e-3).floor().max(1.0) / 1e6)]);
        }
        call.extra_args(turns.map(|turns| format!("{MAX_TURNS}={turns}")))
    }

    /// If the agent reached its budget, names the limit that this was.
    #[must_use]
    pub fn named(&self, ending: Ending) -> Ending {
        match (ending, self.tightest) {
            (Ending::Refused { class: Class::Budget, why }, Some(Limit { key, limit, left })) if left > 0.0 => {
                let part = if key == DAY { "its part was" } else { "of which were left" };
                let class = if key == TREE_COST { Class::Tree } else { Class::Budget };
                Ending::Refused { class, why: format!("{why}: {key} = {limit} USD, {part} {left:.4}") }
            }
            (other, _) => other,
        }
    }
}
