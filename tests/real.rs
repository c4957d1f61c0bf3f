//! The tests with real programs of others, which `tests/run` fetches: `claude`, other agents, SDKs for Python and Node.js.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod acp;
mod claude;
mod clients;
