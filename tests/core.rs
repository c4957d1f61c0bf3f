//! What askbox does with nothing but its own programs and scripted agents. `tests/run` runs it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod agent;
mod faults;
mod fuzz;
mod machines;
mod mailbox;
mod programs;
mod watch;
mod web;
