//! Money: the costs of runs, and the limits on them.
//!
//! 1. While a run works, each turn's cost is booked.
//! 2. Before the next launch the limits are checked: what the day has left, what the tree of workflows has used, what the round has
//!    cost, and what the workflow has. The agent may spend what the tightest limit leaves. If nothing is left, that limit is the reason
//!    not to launch the agent.
//! 3. The run's part of the day's limit is reserved in its record while it is live, so that runs at the same time share the
//!    limit. The limit of a tree is checked but not reserved: its runs can exceed it together.
//!
//! | file | idea |
//! |---|---|
//! | `budget` | the money and the time that a launch may use |
//! | `day` | the day's limit, and how much of it is spent or reserved |
//! | `costs` | the bookings of a day, and the sums of rounds and workflows |
//! | `used` | the cost of a workflow and the times when it was at work, from its newest rounds and a sum of the past ones |

pub mod budget;
pub mod costs;
pub mod day;
pub mod used;
