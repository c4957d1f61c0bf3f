//! With the real `claude` behind a scripted API. `tests/run` fetches it and names it in `ASKBOX_TEST_CLAUDE`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod approvals;
mod asked_within;
mod attended;
mod chains;
mod definitions;
mod documented;
mod facts;
mod first_design;
mod hidden_programs;
mod killed_starts;
mod live;
mod main_job;
#[cfg(feature = "mcp")]
mod mcp;
mod native;
mod not_typed;
mod operator;
mod permission_mode;
mod plugin;
mod plugin_flow;
mod refused;
mod scripted_api;
mod small_agent;
mod stopping;
mod tapped;
mod traced;
mod traps;
mod until;
