//! Chains of scripted agents: an agent starts another one, ends its turn, and is woken when that one has ended.

mod bounds;
mod chain_limits;
mod ends;
mod foreground;
mod foreground_killed;
mod fork;
mod no_result;
mod parked_child;
pub(crate) mod scripted;
mod told;
mod wait;
mod waking;
