//! Money: what runs have cost, and what they may cost.
//!
//! 1. While a run works, each turn's cost is booked: `costs`.
//! 2. Before the next launch the limits are checked: what the day has left (`day`), what the tree of workflows has used (`used`), and
//!    what the round and the workflow have cost (`costs`). The limit that leaves the least is what the agent may spend, or the
//!    reason not to launch it: `budget`.
//! 3. What the run may spend of the day's limit is reserved in its record while it is live, so that runs at the same time share the
//!    limit. The limit of a tree is checked but not reserved: its runs can exceed it together.

pub mod budget;
pub mod costs;
pub mod day;
pub mod used;
