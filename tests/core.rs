//! The tests that need only askbox, scripted agents and the programs of Debian.
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
