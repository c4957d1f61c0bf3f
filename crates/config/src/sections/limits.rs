//! `[limits]` and `[chain]`: the time and money of a run, a workflow, a tree and a day, and how far a tree may grow.

use std::time::Duration;

use crate::section::section;
use askbox_mailbox::Span;

section! {
    /// `[limits]`: how much time and money runs may use.
    "limits" Limits {
        /// The longest time of one run. Then it is stopped and parked, with its session kept.
        run_time: Span = Span(Duration::from_secs(6 * 3600)),
        /// The longest time without a sign of life. Then the run is stopped and parked, with its session kept.
        silence: Span = Span(Duration::from_secs(3600)),
        /// The time without a sign of life before a run is reported as silent. The run goes on.
        silent_after: Span = Span(Duration::from_secs(30)),
        /// How long a run waits with its agent for an answer, an hour at most. Then a server is told that nobody decided, a call of a
        /// subagent is refused, and for any other call or form the run ends until it is decided. `"0s"`: no wait, and a server's question
        /// is shown only over ACP.
        hold: Span = Span(Duration::from_secs(5 * 60)),
        /// How long a stop waits for the tool call in flight before it interrupts the agent.
        grace: Span = Span(Duration::from_secs(30)),
        /// The most API round trips of one launch (`--max-turns`). An agent that goes on is stopped, and the round is parked. `0`: no
        /// limit.
        turns: u32 = 0,
        /// US dollars for one answer, all attempts together, such as `2.5` (`--max-budget-usd`). Then the round is parked, with its session
        /// kept. The agent stops at the end of a turn. `0`: no limit.
        run_cost: f64 = 0.0,
        /// US dollars for one workflow, all answers together; otherwise like `run_cost`. `0`: no limit.
        workflow_cost: f64 = 0.0,
        /// US dollars for a workflow without a parent and all below it. Then nothing is launched or spawned there. `0`: no limit.
        tree_cost: f64 = 0.0,
        /// The time in which some run of the tree is live. Then its live runs are stopped, with their sessions kept, and nothing is
        /// launched or spawned there. `"0s"`: no limit.
        tree_time: Span = Span(Duration::ZERO),
        /// US dollars for all runs of a day (UTC). Then nothing is launched until the next day. Each launch reserves its `run_cost` or an
        /// even part of what is left, and waits if nothing is. `0`: no limit.
        day_cost: f64 = 0.0,
    }
}

section! {
    /// `[chain]`: how far a tree of workflows may grow.
    "chain" Chain {
        /// The most levels of a tree of workflows, at least 1. A deeper spawn is refused.
        max_depth: usize = 8,
        /// The most workflows that one workflow waits for at the same time, at least 1. A further spawn is refused.
        max_children: usize = 16,
    }
}
