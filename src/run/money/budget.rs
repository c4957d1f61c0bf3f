//! What a launch may spend: the limits are checked before each launch, and the agent gets what is left as `--max-budget-usd`, which
//! counts the spending of one process.
//!
//! The rounds of a workflow go in order, so only one run at a time spends the limit of a workflow. The day's limit is shared by all
//! runs: under the lock `locks/costs` a run reserves its part in its own `run.json` before it launches. A reservation counts
//! while the run's lock is held, so it ends with the run, even if the run is killed. What was spent of it is booked.

use std::path::PathBuf;
use std::time::Duration;

use crate::agent::claude::Invocation;
use crate::config::Config;
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

/// What a launch may spend.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Allowance {
    /// Of the limits on money, the one that leaves the least: its key, its value, and what is left of it, in US dollars.
    tightest: Option<(&'static str, f64, f64)>,
    /// The limit on the tree's time at work, and what is left of it.
    time: Option<(Duration, Duration)>,
    /// The day's limit is not spent, but all that is left is reserved for other runs.
    held: bool,
}

impl Allowance {
    /// What this attempt may spend now. Reserves its part of the day's limit in its record. Reads nothing if no limit is set.
    pub fn take(mailbox: &Mailbox, config: &Config, run: &mut Run) -> Result<Self> {
        let limits = &config.limits;
        let mut left = Vec::new();
        let mut left_of_round = None;
        if limits.run_cost > 0.0 {
            let rest = limits.run_cost - costs::of_round(mailbox, &run.round())?.unwrap_or(0.0);
            left.push(("limits.run_cost", limits.run_cost, rest));
            left_of_round = Some(rest);
        }
        if limits.workflow_cost > 0.0 {
            left.push((
                "limits.workflow_cost",
                limits.workflow_cost,
                limits.workflow_cost - costs::of_workflow(mailbox, &run.workflow_id)?,
            ));
        }
        let tree = Self::of_tree(mailbox, config, &run.workflow_id)?;
        left.extend(tree.tightest);
        let least = |left: &[(&'static str, f64, f64)]| left.iter().copied().min_by(|a, b| a.2.total_cmp(&b.2));
        let mut held = false;
        if limits.day_cost > 0.0 && least(&left).is_none_or(|(.., rest)| rest > 0.0) {
            let _lock = Lock::acquire(&lock_path(mailbox))?;
            if let Some(day) = Day::of(mailbox, config, time::now(), Some(&run.round()))? {
                let slots = config.relaunch.max_concurrent.saturating_sub(day.runs).max(1);
                // A run without a limit of its own gets an even part, so that something is left for the next one.
                let part = left_of_round.map_or(day.free() / slots as f64, |rest| rest.min(day.free()));
                left.push((DAY, day.limit, part));
                held = day.spent < day.limit && day.free() <= 0.0;
                run.reserved_usd = least(&left).map(|(.., rest)| rest).filter(|rest| *rest > 0.0);
                record::write(mailbox, run)?;
            }
        }
        Ok(Self { tightest: least(&left), held, ..tree })
    }

    /// What the tree of a workflow may still use. Reads nothing if no limit is set.
    pub fn of_tree(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<Self> {
        let (cost, time) = (config.limits.tree_cost, config.limits.tree_time.0);
        if cost <= 0.0 && time.is_zero() {
            return Ok(Self::default());
        }
        let tree = Tree::of(mailbox, workflow)?;
        let tightest = if cost > 0.0 { Some((TREE_COST, cost, cost - tree.cost(mailbox)?)) } else { None };
        let time = if time.is_zero() { None } else { Some((time, time.saturating_sub(tree.time(mailbox)?))) };
        Ok(Self { tightest, time, held: false })
    }

    /// How long the tree may still be at work; `None` if no limit is set.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        self.time.map(|(_, left)| left)
    }

    /// The ending of the attempt if nothing may be launched.
    #[must_use]
    pub fn refusal(&self) -> Option<Ending> {
        if let Some((limit, _)) = self.time.filter(|(_, left)| left.is_zero()) {
            let why = format!("nothing is left of {TREE_TIME} = {} for its whole tree", time::human(limit));
            return Some(Ending::Refused { class: Class::Tree, why });
        }
        let (key, limit, _) = self.tightest.filter(|(.., left)| *left <= 0.0)?;
        Some(match key {
            DAY if self.held => Ending::Held { why: format!("all that is left of {key} = {limit} USD is reserved for live runs") },
            TREE_COST => Ending::Refused { class: Class::Tree, why: format!("nothing is left of {key} = {limit} USD for its whole tree") },
            _ => Ending::Refused { class: Class::Budget, why: format!("nothing is left of {key} = {limit} USD") },
        })
    }

    /// Adds the limits to the agent's arguments; the one on money only if the operator's own arguments do not set it.
    #[must_use]
    pub fn limit(&self, mut call: Invocation, turns: Option<u32>) -> Invocation {
        if let Some((.., left)) = self.tightest.filter(|_| !says(&call, MAX_BUDGET)) {
            // Rounded down, except for the error of binary fractions: the sum of all parts must not exceed the limit.
            call = call.extra_args([format!("{MAX_BUDGET}={:.6}", (left * 1e6 + 1e-3).floor().max(1.0) / 1e6)]);
        }
        call.extra_args(turns.map(|turns| format!("{MAX_TURNS}={turns}")))
    }

    /// If the agent reached its budget, names the limit that this was.
    #[must_use]
    pub fn named(&self, ending: Ending) -> Ending {
        match (ending, self.tightest) {
            (Ending::Refused { class: Class::Budget, why }, Some((key, limit, left))) if left > 0.0 => {
                let part = if key == DAY { "its part was" } else { "of which were left" };
                let class = if key == TREE_COST { Class::Tree } else { Class::Budget };
                Ending::Refused { class, why: format!("{why}: {key} = {limit} USD, {part} {left:.4}") }
            }
            (other, _) => other,
        }
    }
}
