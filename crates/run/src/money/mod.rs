//! Money: the costs of runs, and the limits on them.
//!
//! 1. While a run works, each turn's cost is booked: `costs`.
//! 2. Before the next launch the limits are checked: what the day has left (`day`), what the tree of workflows has used (`budget`), what
//!    the round has cost (`costs`), and what the workflow has (`workflow_cost`). How long a tree was at work is in `workflow_time`. These two
//!    read the records of the newest rounds only (`past_rounds`). The agent may spend what the tightest limit leaves. If
//!    nothing is left, that limit is the reason not to launch the agent: `budget`.
//! 3. The run's part of the day's limit is reserved in its record while it is live, so that runs at the same time share the
//!    limit. The limit of a tree is checked but not reserved: its runs can exceed it together.

pub mod budget;
pub mod costs;
pub mod day;
mod past_rounds;
pub mod workflow_cost;
pub mod workflow_time;
