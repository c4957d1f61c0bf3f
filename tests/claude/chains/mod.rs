//! Chains of the real `claude`: agents that start agents, ask far down, end their turns, and are woken bottom-up.

mod auto;
mod birthday;
mod forked;
mod levels;
mod roles;
mod seed;
