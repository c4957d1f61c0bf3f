//! Chains: agents that start agents, ask far down, end their turns, and are woken bottom-up.
#![cfg(feature = "relaunch")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../support/home.rs"]
#[allow(dead_code)]
mod home;
#[path = "../support/mod.rs"]
mod support;

mod birthday;
mod bounds;
mod ends;
mod limits;
mod live;
mod roles;
mod seed;
mod tree;
mod waking;
