//! `[limits]` and `[chain]`: the time and money of a run, a workflow, a tree and a day, and how far a tree may grow.

use std::time::Duration;

use crate::section::section;
use askbox_mailbox::time::Span;

section! {
    /// `[limits]`: how much time and money runs may use.
    "limits" Limits {
        /// How long one run may take; more than zero. After that time the run is stopped and parked; its session is kept.
        run_time: Span = Span(Duration::from_secs(6 * 3600)),
        /// How long a run may give no sign of life; more than zero. After that time the run is stopped and parked; its session is kept.
        silence: Span = Span(Duration::from_secs(3600)),
        /// How long a run may give no sign of life before it is reported as silent (event `silent`); more than zero. The run goes on.
        silent_after: Span = Span(Duration::from_secs(30)),
        /// How long a run waits, with its agent, for an answer that the agent cannot go on without; at most an hour. If an MCP server
        /// asks the user (an elicitation), the server is then told that nobody decided, and the run goes on. If a tool call waits to be
        /// allowed (`approvals.ask_stopped`), or an agent that speaks ACP asks with a form, the run ends, and goes on once that is decided.
        /// In both cases the run ends for its question if `run_time` is over first. A call of a subagent inside the session is refused
        /// after that time, and the run goes on. `"0s"`: the run does not wait, and a server's question is shown only if it came over ACP.
        hold: Span = Span(Duration::from_secs(5 * 60)),
        /// How long a stop waits for the tool call in flight before it interrupts the agent.
        grace: Span = Span(Duration::from_secs(30)),
        /// How many API round trips one launch may make. The agent is told (`--max-turns`) and stops by itself. An agent that goes on is
        /// stopped. The round is parked, and a parent gets what the agent had written, marked as cut. `0`: no limit.
        turns: u32 = 0,
        /// US dollars for one answer, all attempts together, such as `2.5`. When they are used up, the round is parked, and its session
        /// is kept. The agent is told (`--max-budget-usd`) and has to stop by itself, because the cost of a turn is known only at its
        /// end. `turns` and `run_time` end an agent that does not stop. `0`: no limit.
        run_cost: f64 = 0.0,
        /// US dollars for one workflow, all answers together; otherwise like `run_cost`. `0`: no limit.
        workflow_cost: f64 = 0.0,
        /// US dollars for a whole tree: a workflow without a parent, and all workflows below it. When they are used up, no run of the tree is
        /// launched, and no workflow is spawned in it. `0`: no limit.
        tree_cost: f64 = 0.0,
        /// The time at work of a whole tree: the time in which at least one of its runs is live. Runs at the same time count once, and
        /// waiting for an answer does not count. When the time is used up, the tree's live runs are stopped with their sessions kept,
        /// no run of the tree is launched, and no workflow is spawned in it. `"0s"`: no limit.
        tree_time: Span = Span(Duration::ZERO),
        /// US dollars for all runs of a day (UTC). When they are used up, nothing is launched until the next day. Before a launch each
        /// run reserves its `run_cost`. If that is not set, it reserves an even part of what is left, so that runs at the same time
        /// cannot exceed the limit together. A round waits if nothing is left to reserve. `0`: no limit.
        day_cost: f64 = 0.0,
    }
}

section! {
    /// `[chain]`: how far a tree of workflows may grow.
    "chain" Chain {
        /// How many levels a tree of workflows may have, the first one included; at least 1. A spawn below the last level is refused.
        max_depth: usize = 8,
        /// The most workflows that one workflow may wait for at the same time; at least 1. A spawn beyond that is refused.
        max_children: usize = 16,
    }
}
